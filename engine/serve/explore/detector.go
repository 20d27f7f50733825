package explore

import (
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// maxCauses is how many causes a gap lists. A PV that searches and loses its IOC for days has many.
const maxCauses = 16

// gap is a time in which no updates arrived.
type gap struct {
	// From is absent if the gap began before all marks of the PV, and To if it has not ended.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Kind is the kind of the first cause, or not_captured if the archive has no earlier mark.
	Kind string `json:"kind"`
	// Causes are what happened during the gap, in order of time. More is how many are left out.
	Causes []cause `json:"causes,omitempty"`
	More   int     `json:"more,omitempty"`
	// Writer is the writer that was connected after the gap, and Text its server.
	Writer string `json:"writer,omitempty"`
	Text   string `json:"text,omitempty"`
}

// cause is what happened at a time of a gap.
type cause struct {
	Time string `json:"time"`
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`
	// Writer is the writer ID, as in the store.
	Writer string `json:"writer"`
}

// loss is a time at which samples were lost while updates arrived. Without a count, an unknown
// number of samples may be missing.
type loss struct {
	From   string `json:"from"`
	To     string `json:"to,omitempty"`
	Reason string `json:"reason"`
	Count  uint64 `json:"count,omitempty"`
	Text   string `json:"text,omitempty"`
	Writer string `json:"writer"`
}

// detector finds gaps in the marks of a PV, which it gets in order of time.
//
// While a shard moves, or with redundancy 2, two engines capture the PV. If the first one is disconnected
// or disabled after the second one was connected, updates still arrive.
type detector struct {
	from  int64
	limit int
	out   gapsOf
	open  *gap
	by    store.WriterID // the latest writer that was connected
}

// newDetector returns a detector for gaps that touch a range. whole says that it gets all marks of
// the PV: then the PV was not captured before the first one.
func newDetector(from int64, limit int, whole bool) *detector {
	d := &detector{from: from, limit: limit, out: gapsOf{Gaps: []gap{}, Losses: []loss{}}}
	if whole {
		d.open = &gap{Kind: "not_captured"}
	}
	return d
}

// add adds a mark. It returns false if there are too many gaps and losses.
func (d *detector) add(m *store.PVMark) bool {
	if len(d.out.Gaps)+len(d.out.Losses) >= d.limit {
		d.out.LeftOutFrom = clock(m.Time)
		d.open = nil
		return false
	}
	switch {
	case m.Kind == sample.Lost:
		if max(m.Time, m.End) >= d.from {
			d.out.Losses = append(d.out.Losses, loss{clock(m.Time), optional(m.End), m.Reason.String(), m.Count, m.Text, writer(m)})
		}
	case m.Kind.Delivers():
		d.close(m)
	case !m.Kind.IsState():
	case m.Kind == sample.Disabled && d.open != nil:
		d.extend(m)
	case (m.Kind == sample.Disconnected || m.Kind == sample.Disabled) && d.by != store.WriterID{} && d.by != m.Writer:
	default:
		d.extend(m)
	}
	return true
}

// extend begins a gap, or adds a cause to the open one.
func (d *detector) extend(m *store.PVMark) {
	if d.open == nil {
		d.open = &gap{From: clock(m.Time), Kind: m.Kind.String()}
	}
	if len(d.open.Causes) == maxCauses {
		d.open.More++
		return
	}
	d.open.Causes = append(d.open.Causes, cause{clock(m.Time), m.Kind.String(), m.Text, writer(m)})
}

// close ends the open gap at a connection.
func (d *detector) close(m *store.PVMark) {
	d.by = m.Writer
	if d.open != nil && m.Time > d.from {
		d.open.To, d.open.Writer, d.open.Text = clock(m.Time), writer(m), m.Text
		d.out.Gaps = append(d.out.Gaps, *d.open)
	}
	d.open = nil
}

// finish returns the result. A gap that is open lasts beyond the range, or until now. A PV without
// any mark may have been captured: older archives have no marks.
func (d *detector) finish() *gapsOf {
	if d.open != nil && len(d.open.Causes) > 0 {
		d.out.Gaps = append(d.out.Gaps, *d.open)
	}
	return &d.out
}

// writer returns the ID of the writer of a mark.
func writer(m *store.PVMark) string { return m.Writer.String() }
