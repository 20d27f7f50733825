package jsonaccess

import (
	"iter"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// event is a time at which a PV loses its value, or has it again.
type event struct {
	at     int64
	status string // why there is no value; empty if the PV has a value again
}

// statuses are the reasons why a PV has no value, by the kind of the mark. The Cassandra PV
// Archiver and the Channel Archiver use the same texts.
var statuses = map[sample.MarkKind]string{
	sample.Disconnected: "Disconnected", sample.AccessDenied: "Disconnected",
	sample.Paused: "Archive_Disabled", sample.Removed: "Archive_Disabled", sample.Disabled: "Archive_Disabled",
	sample.Died: "Archive_Off", sample.Stopped: "Archive_Off",
}

// findEvents yields the events of a PV from its marks, by time. A gap begins with a mark of
// statuses and ends with the next connection. findEvents leaves out gaps that are shorter than a
// duration in ns.
func findEvents(marks iter.Seq2[store.PVMark, error], shortest int64) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		for g, err := range query.Gaps(marks, func(k sample.MarkKind) bool { return statuses[k] != "" }) {
			switch {
			case err != nil:
				yield(event{}, err)
				return
			case g.To != 0 && g.To-g.From < shortest:
			case !yield(event{g.From, statuses[g.Kind]}, nil), g.To != 0 && !yield(event{at: g.To}, nil):
				return
			}
		}
	}
}

// cursor reads events one by one.
type cursor struct {
	event
	more bool // event is valid
	next func() (event, error, bool)
	stop func()
}

// newCursor returns a cursor at the first event. The caller calls stop at the end.
func newCursor(events iter.Seq2[event, error]) (*cursor, error) {
	c := &cursor{}
	c.next, c.stop = iter.Pull2(events)
	return c, c.read()
}

// read reads the next event.
func (c *cursor) read() (err error) {
	c.event, err, c.more = c.next()
	return err
}
