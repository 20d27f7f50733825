package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"varve.dev/varve/engine/serve/absence"
)

// The causes that are not those of package absence, of a mark, or of a dropped sample.
const (
	// UnknownPV means that the archive does not know a PV of this name.
	UnknownPV = "unknown_pv"
	// FormerName means that the name is a former name of a PV, which is captured under its present name.
	FormerName = "former_name"
	// InvalidGroup means that no valid group captures the PV, and a group or a manifest has errors.
	InvalidGroup = "invalid_group"
	// ExpiredGroup means that the group of the PV has ended.
	ExpiredGroup = "expired_group"
	// StoreAway means that the store does not accept samples.
	StoreAway = "store_away"
	// Unreadable means that samples arrive, but the store cannot be read.
	Unreadable = "unreadable"
	// Lagging means that reads lack samples that were received.
	Lagging = "lagging"
	// WrongClock means that the clock of the IOC is wrong, so samples are stored at other times or refused.
	WrongClock = "clock"
	// Expired means that the samples of the time have expired.
	Expired = "expired"
	// Deleted means that a user has deleted the samples of the time.
	Deleted = "deleted"
	// DiskGuard means that the disk guard has deleted the samples of the time.
	DiskGuard = "disk_guard"
	// NotYet means that the PV had no sample at the time yet.
	NotYet = "not_yet"
)

// cause is the reason why a PV has no samples.
type cause struct {
	kind, step   string
	since        int64
	text, advice string
}

// decision returns a cause if it applies.
type decision func(f *Facts) *cause

// now are the decisions about the present, in order.
var now = []decision{
	unasked, formerName, groupProblem, expiredGroup, removed, invalidGroup, unknownPV, notCaptured,
	absent, storeAway, dropped, wrongClock, unreadable, lagging,
}

// before are the decisions about an earlier time, in order.
var before = []decision{storeUnasked, unknownPV, deleted, givenUp, expired, notYet, marked, lost}

// Explain says why a PV has no samples.
func Explain(f *Facts) Answer {
	list := now
	if !f.live() {
		list = before
	}
	a := Answer{Last: f.Last, Steps: steps(f)}
	for _, decide := range list {
		if c := decide(f); c != nil {
			a.Cause, a.Step, a.Since, a.Text, a.Advice = c.kind, c.step, c.since, c.text, c.advice
			a.blame(c)
			return a
		}
	}
	a.OK = true
	a.Text = f.arriving()
	return a
}

// live reports whether the question is about the present.
func (f *Facts) live() bool { return absence.Live(f.At, f.Now) }

// blame makes the step of a cause fail, and those after it idle, unless samples pass them for another reason.
func (a *Answer) blame(c *cause) {
	at := slices.IndexFunc(a.Steps, func(s Step) bool { return s.Name == c.step })
	if at < 0 {
		return
	}
	s := &a.Steps[at]
	if s.State = Failed; c.kind == absence.Unknown {
		s.State = Unknown
	}
	s.Since = cmp.Or(c.since, s.Since)
	if s.Text == "" {
		s.Text = c.text
	}
}

// arriving explains that nothing keeps samples away.
func (f *Facts) arriving() string {
	if !f.live() {
		return "the last sample until " + clock(f.At) + " is of " + clock(f.Last)
	}
	s := &f.Status
	last := f.Last
	if s.HasLast {
		last = max(last, s.Last.Time)
	}
	switch {
	case last == 0:
		return "the channel is connected since " + clock(s.Since) + ", and its first value has not arrived yet; ask again in some seconds"
	case s.Update.Dropped || s.Update.Arrived != 0 && f.Now-s.Update.Arrived < recent:
		text := "samples arrive: the last one is of " + clock(last)
		if s.Rate > 0 {
			text += fmt.Sprintf(", %.3g updates/s", s.Rate)
		}
		return text
	case s.Update.Arrived == 0:
		return "the archive has the latest value, of " + clock(last) + "; when the IOC has sent the latest update is not known"
	}
	return "the archive has the latest value, of " + clock(last) + "; the IOC has sent no update since " + clock(s.Update.Arrived)
}

// recent is how long after a sample it counts as recent.
const recent = int64(time.Minute)

// clock formats a time in ns since 1970.
func clock(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }

// age formats a duration in ns, without fractions that nobody needs.
func age(ns int64) string {
	d := time.Duration(ns)
	if d < 0 {
		d = -d
	}
	const day = 24 * time.Hour
	if d >= 2*day {
		return fmt.Sprintf("%d days", d/day)
	}
	if d > time.Minute {
		return strings.TrimSuffix(d.Round(time.Second).String(), "0s")
	}
	return d.Round(time.Millisecond).String()
}

// listed joins texts, and leaves out all but the first few.
func listed(texts []string) string {
	const most = 3
	if n := len(texts) - most; n > 0 {
		return strings.Join(texts[:most], "; ") + fmt.Sprintf("; and %d more", n)
	}
	return strings.Join(texts, "; ")
}
