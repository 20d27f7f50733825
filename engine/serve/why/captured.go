package why

import (
	"fmt"
	"strings"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/absence"
)

// absent applies if the channel is not connected, silent, paused, disabled or unsupported.
func absent(f *Facts) *cause {
	s := &f.Status
	if s.State == capture.Connected && !s.Silent {
		return nil
	}
	in := absence.Input{Until: f.At, Now: f.Now, Captured: true, Status: *s, Marked: f.Marked, Mark: f.Mark}
	a, _ := absence.Explain(&in)
	c := &cause{kind: a.Kind, since: a.Since, text: a.Text}
	c.step, c.advice = f.adviceOf(a.Kind, a.Text)
	return c
}

// adviceOf returns the step at which a channel is absent, and what the user can do.
func (f *Facts) adviceOf(kind, text string) (step, advice string) {
	switch kind {
	case sample.Paused.String():
		return InGroup, pauseAdvice(text)
	case sample.Disabled.String():
		return Filtered, "Capture goes on when the condition of enabledBy is met. Change spec.enabledBy if it is wrong."
	case absence.Unsupported:
		return Connected, "Select fields of the structure with fields, or remove the PV from its group."
	case absence.Silent:
		return Received, "Look on the IOC whether the record is processed, and whether it may be read."
	case sample.Searching.String():
		return Searched, f.searchAdvice()
	case sample.Refused.String():
		return Searched, "Look at the log of that server. It answered the search, and does not provide the PV."
	case sample.AccessDenied.String():
		return Connected, "Allow reading in the access security of the IOC (ASG of the record, asSetFilename) for the host of the engine."
	case sample.Disconnected.String():
		return Connected, "Look whether the IOC runs and the network reaches it. Capture goes on when it is back."
	}
	return Connected, "Look at the log of the engine that captures the PV."
}

// pauseAdvice says how to end a pause.
func pauseAdvice(text string) string {
	switch {
	case strings.Contains(text, "(planned from "):
		return "Capture goes on at the end of the planned pause. Change spec.pauses of the group to end it earlier."
	case strings.Contains(text, "(expiresAt)"):
		return "Remove expiresAt of the channel, or set it to a later time."
	}
	return "Remove paused from the group, the rule or the channel."
}

// searchAdvice says what to do about a PV that no server has.
func (f *Facts) searchAdvice() string {
	for _, g := range f.Groups {
		if g.Name != f.Status.Group || g.Connected == 0 {
			continue
		}
		return fmt.Sprintf("Compare the name with the records of its IOC, and look whether that IOC runs: %d of %d PVs of group %s are connected, so searches reach IOCs.",
			g.Connected, g.Channels, g.Name)
	}
	return "Look whether the IOC runs, compare the name with its records, and check that the addresses reach it (EPICS_CA_ADDR_LIST, EPICS_PVA_ADDR_LIST, spec.epics)."
}

// storeAway applies if the engine cannot store samples.
func storeAway(f *Facts) *cause {
	if f.Storage == "" {
		return nil
	}
	return &cause{
		kind: StoreAway, step: Journaled, text: "samples arrive, but they are not stored: " + f.Storage + "; " + count(f.pending(), "sample") + " of the PV wait",
		advice: "Make the store available. Samples wait in memory, and in the spool if there is one, and are stored then. The log of the engine has details.",
	}
}

// pending is the number of samples that the engine has received, and neither stored nor dropped.
func (f *Facts) pending() uint64 {
	kept := f.Status.Kept()
	return kept - min(kept, f.Status.Stored)
}

func count(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// dropAdvice says what to do about updates that are dropped.
var dropAdvice = map[sample.Reason]string{
	sample.Deadband:    "Nothing is wrong if the value does not change by more. Otherwise reduce sampling.deadband, or set sampling.maxPeriod to get a sample in each interval.",
	sample.Rate:        "Increase sampling.maxRate.",
	sample.Clock:       "Correct the clock of the IOC (NTP), or set sampling.clock to Engine, or sampling.clockLimit.onExceeded to Restamp.",
	sample.TooLarge:    "Select fields of the structure with fields, or reduce the array.",
	sample.Unsupported: "Select fields of the structure with fields, or remove the PV from its group.",
}

// dropped applies if updates arrive, and the latest one was dropped long after the last sample.
func dropped(f *Facts) *cause {
	u := &f.Status.Update
	if u.Arrived == 0 || !u.Dropped {
		return nil
	}
	at := u.Time
	if f.Status.Last.Tag&sample.EngineClock != 0 { // compare times of one clock
		at = u.Arrived
	}
	if u.Reason != sample.Clock && f.Status.HasLast && at-f.Status.Last.Time < recent || u.Reason == sample.Duplicate || u.Reason == sample.ConditionUnmet {
		return nil
	}
	c := &cause{kind: u.Reason.String(), step: Filtered, text: "updates arrive, the latest one at " + clock(u.Arrived) + ", but they are dropped: " + f.dropText(), advice: dropAdvice[u.Reason]}
	if u.Reason == sample.Clock { // the time of the last sample may be wrong, too
		c.step = Received
	} else if f.Status.HasLast {
		c.since = f.Status.Last.Time
	}
	return c
}

// dropText explains why the latest update was dropped.
func (f *Facts) dropText() string {
	s := &f.Status
	switch s.Update.Reason {
	case sample.Deadband:
		text := "the value is within the deadband of the last sample"
		if s.HasLast {
			text += ", of " + clock(s.Last.Time)
		}
		if s.Filters != "" {
			text += " (" + s.Filters + ")"
		}
		return text
	case sample.Clock:
		return "the time stamp of the IOC, " + clock(s.Update.Time) + ", is " + f.clockOffset() + " its arrival, and the group refuses that"
	case sample.TooLarge:
		return fmt.Sprintf("the value has more than %d bytes", capture.MaxValueBytes)
	}
	return s.Update.Reason.String()
}

// clockOffset says how far the time stamp of the latest update is from its arrival.
func (f *Facts) clockOffset() string {
	u := &f.Status.Update
	if off := u.Time - u.Arrived; off > 0 {
		return age(off) + " after"
	}
	return age(u.Arrived-u.Time) + " before"
}

// clockOff is how far a time stamp may be from its arrival before the clock of the IOC counts as wrong.
const clockOff = int64(2 * time.Minute)

// stampWrong reports whether the time stamp of the latest update is far from its arrival. The first update after connecting
// may be old.
func (f *Facts) stampWrong() bool {
	u := &f.Status.Update
	off := u.Time - u.Arrived
	return u.Arrived != 0 && (off > clockOff || off < -clockOff && !u.First)
}

// wrongClock applies if samples are stored at the wrong times of the IOC.
func wrongClock(f *Facts) *cause {
	s := &f.Status
	if !f.stampWrong() || s.Update.Dropped || !s.HasLast || s.Last.Tag&sample.EngineClock != 0 {
		return nil
	}
	return &cause{
		kind: WrongClock, step: Received,
		text:   "samples arrive, but at wrong times: the time stamp of the latest update, " + clock(s.Update.Time) + ", is " + f.clockOffset() + " its arrival",
		advice: "Correct the clock of the IOC (NTP), or set sampling.clock to Engine. The samples are at the times of the IOC.",
	}
}

// unreadable applies if samples arrive, and the store cannot be read.
func unreadable(f *Facts) *cause {
	switch {
	case f.StoreMissing != "":
		return &cause{kind: Unreadable, step: InStore, text: "samples arrive, but the store cannot be read: " + f.StoreMissing, advice: "Make the store available. Reads succeed again then."}
	case f.ReadMissing != "":
		return &cause{kind: Unreadable, step: Read, text: "samples arrive, but reading them fails: " + f.ReadMissing, advice: "Read the samples again later. The log of the process that serves readers has details."}
	}
	return nil
}

// lagging applies if reads lack recent samples.
func lagging(f *Facts) *cause {
	if f.CompleteUntil == 0 || f.Now-f.CompleteUntil < recent || f.Status.Update.Arrived <= f.CompleteUntil {
		return nil
	}
	return &cause{
		kind: Lagging, step: Read, since: f.CompleteUntil, text: "samples arrive, but reads have only those that were received until " + clock(f.CompleteUntil) + ": an engine is busy, unreachable or dead",
		advice: "Look at the engines (varve status, /archive). The samples appear when they are in the store.",
	}
}
