package capture

import (
	"errors"
	"strings"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/sample"
)

// absence says why no updates of a channel arrive. The channel's lock guards it.
//
//	subscribe ─▶ searching ─▶ refused ─▶ access_denied
//	   lost ──▶ disconnected ──┘ │
//	            searching ◀──────┘ no server refuses any more; without a mark
//
// A channel that does not connect gets marks only in this order, so that a server that is found
// and lost again all the time does not fill the store.
type absence struct {
	// kind is the kind of mark for the absence, or 0 if updates arrive or the type is unsupported.
	kind  sample.MarkKind
	since int64 // ns since 1970
	begin int64 // the earliest time that since may be, for the mark
	// cause explains the absence to users. It is empty while no server answers.
	cause string
	// marked is the kind of the last mark about this absence, or 0 if there is none yet.
	marked sample.MarkKind
	// refused is when a server last refused the channel.
	refused int64
}

// markAfter is how long a channel must be absent for one reason before its mark is written.
// Most channels are found earlier.
const markAfter = 10 * time.Second

// forgetAfter is how long after its last refusal a server no longer counts. A client that searches
// asks it again several times in this time.
const forgetAfter = 10 * time.Minute

// absenceRank orders the reasons for which a channel does not connect.
var absenceRank = map[sample.MarkKind]int{sample.Searching: 1, sample.Disconnected: 1, sample.Refused: 2, sample.AccessDenied: 3}

// Disconnected implements Sink.
func (c *channel) Disconnected(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == Paused {
		return
	}
	c.forgetHeldLocked()
	text, kind := "", sample.Disconnected
	if cause != nil {
		text = cause.Error()
	}
	if errors.Is(cause, ErrAccessDenied) {
		kind = sample.AccessDenied
	}
	switch c.state {
	case Connected:
		c.losses++
		at := c.setStateLocked(Disconnected, absence{kind: kind, cause: text, marked: kind})
		c.addStateLocked(at, sample.Mark{Kind: kind, Text: text})
	case Unsupported:
		c.losses++
		text = strings.TrimPrefix(text+"; ", "; ") + "its values, of type " + c.info.TypeName + ", cannot be archived"
		c.setStateLocked(Disconnected, absence{kind: kind, cause: text, marked: kind})
	default:
		c.refineAbsenceLocked(kind, text)
	}
}

// refineAbsenceLocked records why a server that was found does not provide the channel.
func (c *channel) refineAbsenceLocked(kind sample.MarkKind, text string) {
	if kind == sample.Disconnected {
		kind = sample.Refused
	}
	if absenceRank[kind] < absenceRank[c.absence.kind] {
		return
	}
	at := c.m.instant()
	if c.absence.kind != kind {
		c.absence.kind, c.absence.since, c.absence.begin = kind, at.Now, at.Begin
	}
	c.absence.cause, c.absence.refused = text, at.Now
}

// forgetRefusalLocked records that no server answers any more, if one refused the channel long ago.
func (c *channel) forgetRefusalLocked(now int64) {
	if a := &c.absence; a.kind == sample.Refused && now-a.refused >= int64(forgetAfter) {
		a.kind, a.since, a.begin, a.cause = sample.Searching, a.refused, a.refused, ""
	}
}

// markAbsenceLocked writes a mark about the absence if it is due.
func (c *channel) markAbsenceLocked(now int64) (marked bool) {
	a := &c.absence
	if c.disabledLocked() || absenceRank[a.kind] <= absenceRank[a.marked] || now-a.since < int64(markAfter) {
		return false
	}
	a.marked = a.kind
	c.addStateLocked(clock.Instant{Begin: a.begin}, sample.Mark{Kind: a.kind, Text: c.causeLocked()})
	return true
}

// causeLocked explains to users why no updates arrive. It returns "" if they arrive.
func (c *channel) causeLocked() string {
	if c.absence.kind != sample.Searching {
		return c.absence.cause
	}
	source := c.m.sources[c.filter.set.Provider]
	if source == nil {
		return "this engine has no client for provider " + c.filter.set.Provider.String()
	}
	return source.Reach().text()
}

// rateLocked returns the rate of samples received, which is 0 unless the channel is connected.
func (c *channel) rateLocked() float64 {
	if c.state != Connected {
		return 0
	}
	return c.rate.now(c.m.instant().Monotonic, c.received)
}

// silentLocked reports whether the channel is connected, but no value has arrived since it connected
// a while ago.
func (c *channel) silentLocked() bool {
	return c.state == Connected && !c.disabledLocked() && !c.arrived && c.m.now()-c.since >= int64(markAfter)
}
