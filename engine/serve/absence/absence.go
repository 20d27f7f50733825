// Package absence explains why a PV has no data, from the state of its channel and from its marks:
//
//	capture.Status ──┐ until now
//	                 ├──▶ Explain ──▶ Cause: kind, since when, text
//	latest mark ─────┘ until an earlier time
package absence

import (
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
)

// Cause says why a PV has no data.
type Cause struct {
	// Kind is the name of a kind of mark, or one of the names below.
	Kind string
	// Since is when the cause began, in ns since 1970. It is 0 if that is not known.
	Since int64
	// Text explains the cause to users.
	Text string
}

// These are the kinds of causes that are not kinds of marks.
const (
	// Unsupported means that values of the channel's type cannot be archived.
	Unsupported = "unsupported"
	// Silent means that the channel is connected, and no value has arrived since it connected.
	Silent = "silent"
	// NotCaptured means that the PV is in no group.
	NotCaptured = "not_captured"
	// Unknown means that the archive does not know why.
	Unknown = "unknown"
)

// Input is what is known of a PV.
type Input struct {
	// Until is the end of the time range, and Now is the current time, in ns since 1970.
	Until, Now int64
	// Status is the state of the channel if Captured is true.
	Captured bool
	Status   capture.Status
	// Marked is false if there is no Mark. Mark is the PV's latest mark at or before Until that
	// says a state.
	Marked bool
	Mark   sample.Mark
	// Empty means that the time range has no sample. Last is otherwise the time of its last
	// sample, or 0 if that is not known.
	Empty bool
	Last  int64
}

// present is how much earlier than now a time range may end for the state of the channel to apply.
const present = int64(time.Minute)

// Live reports whether the state of the channel explains a range that ends at a time, rather than
// the marks alone. Both times are in ns since 1970.
func Live(until, now int64) bool { return until > now-present }

// Explain says why a PV has no data at the end of a time range. has is false if it has data there.
func Explain(in *Input) (c Cause, has bool) {
	live := Live(in.Until, in.Now)
	switch {
	case live && in.Captured:
		return in.live()
	case live:
		return in.notCaptured(), true
	case !in.Marked && in.Empty:
		return Cause{Kind: Unknown, Text: "the archive has no mark of the PV up to this time: it was not captured yet"}, true
	case !in.Marked || in.Mark.Kind.Delivers() || in.Last > in.Mark.Time:
		return Cause{}, false
	}
	return ofMark(&in.Mark), true
}

// live explains the state of a captured channel.
func (in *Input) live() (Cause, bool) {
	s := &in.Status
	switch {
	case s.State == capture.Unsupported:
		return Cause{Unsupported, s.Since, s.Cause}, true
	case s.State == capture.Connected && (s.Silent || in.Empty && !s.HasLast):
		return silent(s), true
	case s.State == capture.Connected:
		return Cause{}, false
	}
	c := OfStatus(s)
	if in.Marked && in.Mark.Kind == s.Absent && in.Mark.Time < c.Since {
		c.Since = in.Mark.Time // another engine, or an earlier process, found it out
	}
	return c, true
}

func silent(s *capture.Status) Cause {
	return Cause{Silent, s.Since, "connected to " + s.Host + ", but no value has arrived"}
}

// OfStatus explains the state of a channel that is silent or not connected.
func OfStatus(s *capture.Status) Cause {
	switch {
	case s.State == capture.Unsupported:
		return Cause{Unsupported, s.Since, s.Cause}
	case s.Silent:
		return silent(s)
	}
	if s.Absent == 0 { // the engine has an older version
		return Cause{s.State.String(), s.Since, s.Cause}
	}
	return Cause{s.Absent.String(), s.AbsentSince, s.Cause}
}

// notCaptured explains why no engine captures the PV now.
func (in *Input) notCaptured() Cause {
	if in.Marked && (in.Mark.Kind == sample.Removed || in.Mark.Kind == sample.Stopped) {
		return ofMark(&in.Mark)
	}
	return Cause{Kind: NotCaptured, Text: "no group captures the PV; the archive does not know since when"}
}

// ofMark explains a mark.
func ofMark(m *sample.Mark) Cause {
	c := Cause{m.Kind.String(), m.Time, m.Text}
	switch m.Kind {
	case sample.Paused:
		c.Text = capture.ExplainPause(m.Text)
	case sample.Resumed:
		c.Text = "group " + m.Text + " was resumed, and the channel has not connected since"
	case sample.Removed:
		c.Text = "no group captures the PV; the last group was " + m.Text
	case sample.Stopped:
		c.Text = "the archiver was stopped"
	case sample.Died:
		c.Text = "the engine that captured the PV died, and the channel has not connected since"
	}
	return c
}
