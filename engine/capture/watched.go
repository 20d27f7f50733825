package capture

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/condition"
	"varve.dev/varve/engine/sample"
)

// watched is a PV on whose value conditions depend. It is the sink of the PV's only subscription, however
// many channels depend on it. The lock of conditions guards its fields, except for sub.
type watched struct {
	all      *conditions
	pv       string // canonical name
	provider Provider
	sub      Subscription // guarded by the manager's lock apply

	connected bool
	why       string // why it is not connected
	typ       sample.Type
	labels    []string
	known     bool // there was a value since the subscription began
	has       bool
	value     sample.Sample // the latest value, without its bytes if they are many
	gates     map[string]*gate
}

// gate is a condition on a watched PV, and the channels that it enables.
type gate struct {
	of   *watched
	when string
	test condition.Condition

	// The lock of conditions guards the fields below.
	result   condition.Result
	met      bool // the condition was not false at some time since the last step
	since    clock.Instant
	channels map[*channel]struct{}
	// closed means that the channels are disabled. opened is the monotonic time at which they were last
	// enabled after they had been disabled; 0: never.
	closed bool
	opened time.Duration
}

// keepOpen is how long channels stay enabled, at least, after they were disabled before. It bounds the marks
// if the value of the PV changes all the time.
const keepOpen = 10 * time.Second

// maxWatchedBytes bounds the remembered bytes of a watched PV's value. Conditions compare only values that
// have no bytes, and strings.
const maxWatchedBytes = 256

// update computes the results of all conditions. It is called after each change of the PV.
func (w *watched) update(at clock.Instant) {
	for _, g := range w.gates {
		was := g.result
		if g.result = condition.Unknown; w.connected && w.has {
			g.result = g.test.Eval(w.typ, &w.value, w.labels)
		}
		g.met = g.met || g.result != condition.False
		if g.result != was {
			g.since = at
			w.all.wake()
		}
	}
}

// step opens or closes the gate. If the gate must close later, wait says when.
func (g *gate) step(now time.Duration) (changed bool, wait time.Duration) {
	closed := g.result == condition.False && !(g.closed && g.met) // a closed gate opens if the condition was met for a moment
	g.met = g.result != condition.False
	if closed == g.closed {
		return false, 0
	}
	if closed && g.opened != 0 && now-g.opened < keepOpen {
		return false, keepOpen - (now - g.opened)
	}
	if g.closed = closed; closed {
		return true, 0
	}
	if g.opened = now; g.result == condition.False {
		wait = keepOpen // the condition was met only for a moment
	}
	return true, wait
}

// text explains the value to users, such as "SR:BEAM is 0".
func (w *watched) text() string {
	switch {
	case !w.connected && w.why != "":
		return w.pv + " is not connected (" + w.why + ")"
	case !w.connected:
		text := w.pv + " is not connected"
		if source := w.all.m.sources[w.provider]; source != nil {
			text += " (" + source.Reach().text() + ")"
		}
		return text
	case !w.has:
		return w.pv + " has no value"
	}
	return w.pv + " is " + valueText(w.typ, &w.value, w.labels)
}

// valueText returns a short text of a value.
func valueText(t sample.Type, s *sample.Sample, labels []string) string {
	switch {
	case t == sample.Enum && s.Word < uint64(len(labels)):
		return fmt.Sprintf("%d (%s)", s.Word, strings.ToValidUTF8(labels[s.Word], "\uFFFD"))
	case t.Fixed():
		return strconv.FormatFloat(sample.Float(t, s.Word), 'g', -1, 64)
	case t == sample.String && s.Tag&sample.Elsewhere == 0:
		return strconv.Quote(string(s.Bytes))
	}
	return "a value of type " + t.String()
}

// state explains to users whether the gate enables its channels.
func (g *gate) state() string {
	test, text := g.of.pv+" "+g.when, g.of.text()
	switch {
	case g.closed:
		return fmt.Sprintf("%s has not been met since %s: %s", test, time.Unix(0, g.since.Now).UTC().Format(time.RFC3339), text)
	case g.result == condition.Unknown:
		return fmt.Sprintf("it is not known whether %s is met: %s; the PV is captured meanwhile", test, text)
	case g.result == condition.False:
		return fmt.Sprintf("%s was met less than %v ago: %s", test, keepOpen, text)
	}
	return test + " is met: " + text
}

// mark is the text of the mark Disabled.
func (g *gate) mark() string {
	return fmt.Sprintf("disabled by %s: captured only while %s %s", g.of.text(), g.of.pv, g.when)
}

// Connected implements Sink.
func (w *watched) Connected(info ChannelInfo) {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	w.connected, w.why, w.has, w.typ = true, "", false, info.Type
	w.update(w.all.m.instant())
}

// Sample implements Sink.
func (w *watched) Sample(s *sample.Sample) {
	if w.take(s) {
		w.all.pass() // few channels have joined yet, and they must not keep samples until the goroutine runs
	}
}

// take remembers a value, and reports whether it is the first one.
func (w *watched) take(s *sample.Sample) (first bool) {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	bytes := w.value.Bytes[:0]
	first, w.known = !w.known, true
	w.value, w.has = *s, true
	if w.value.Bytes = append(bytes, s.Bytes[:min(len(s.Bytes), maxWatchedBytes)]...); len(s.Bytes) > maxWatchedBytes {
		w.value.Tag |= sample.Elsewhere
	}
	w.update(w.all.m.instant())
	return first
}

// Checked implements Sink.
func (w *watched) Checked(s *sample.Sample, _ time.Time) (differs bool) {
	w.all.mu.Lock()
	differs = !w.has || w.value.Word != s.Word || !w.value.Tag.SameAlarm(s.Tag) || len(s.Bytes) <= maxWatchedBytes && !slices.Equal(w.value.Bytes, s.Bytes)
	w.all.mu.Unlock()
	if differs {
		w.Sample(s)
	}
	return differs
}

// Metadata implements Sink.
func (w *watched) Metadata(m *sample.Metadata) {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	w.labels = m.Labels
	w.update(w.all.m.instant())
}

// Dropped implements Sink. The latest value counts, which is never dropped.
func (*watched) Dropped(sample.Reason, uint64) {}

// Suspect implements Sink.
func (*watched) Suspect(time.Time, time.Time) {}

// Disconnected implements Sink.
func (w *watched) Disconnected(cause error) {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	w.connected, w.why = false, ""
	if cause != nil {
		w.why = cause.Error()
	}
	w.update(w.all.m.instant())
}
