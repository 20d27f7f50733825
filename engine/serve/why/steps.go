package why

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// steps describes all steps.
func steps(f *Facts) []Step {
	return []Step{
		groupStep(f), searchStep(f), connectStep(f), receiveStep(f), filterStep(f), journalStep(f), storeStep(f), retentionStep(f), readStep(f),
	}
}

// notLive returns a step of the capture if it does not exist: the channel is not captured, not asked, or the question is about
// an earlier time.
func (f *Facts) notLive(name string) (s Step, is bool) {
	s = Step{Name: name}
	switch {
	case !f.live():
		s.State, s.Text = Idle, "only the present state is known"
	case f.StatusMissing != "":
		s.State, s.Text = Unknown, f.StatusMissing
	case !f.Captured:
		s.State = Idle
	default:
		return s, false
	}
	return s, true
}

func groupStep(f *Facts) Step {
	s := Step{Name: InGroup, State: Failed}
	switch {
	case f.StatusMissing != "":
		s.State, s.Text = Unknown, f.StatusMissing
	case f.Captured:
		s.State, s.Text = Done, "group "+f.Status.Group+", "+f.Status.Provider.String()+", "+f.Status.Sampling
		if f.Status.Engine != "" {
			s.Text += ", engine " + f.Status.Engine
		}
	case f.live():
		s.Text = "no group captures the PV"
	default:
		s.State, s.Text = Idle, "no group captures the PV now"
	}
	switch {
	case f.AliasOf != "":
		s.Text = f.PV + " is an alias of " + f.AliasOf + "; " + s.Text
	case f.FieldOf != "":
		s.Text = f.PV + " is a field of " + f.FieldOf + ", kept with its metadata; " + s.Text
	case f.NamesMissing != "":
		s.Text += "; other names of the PV are not known: " + f.NamesMissing
	}
	return s
}

func searchStep(f *Facts) Step {
	s, is := f.notLive(Searched)
	if is {
		return s
	}
	st := &f.Status
	switch {
	case st.State == capture.Paused:
		s.State = Idle
	case st.Absent == sample.Searching || st.Absent == sample.Refused:
		s.State, s.Since, s.Text = Failed, st.AbsentSince, st.Cause
	case st.State == capture.Searching && st.Absent != sample.AccessDenied:
		s.State, s.Since, s.Text = Failed, st.Since, st.Cause
	default:
		s.State, s.Text = Done, st.Host+" has answered"
		if st.Host == "" {
			s.Text = "a server has answered"
		}
	}
	return s
}

func connectStep(f *Facts) Step {
	s, is := f.notLive(Connected)
	if is {
		return s
	}
	st := &f.Status
	switch st.State {
	case capture.Connected:
		s.State, s.Since, s.Text = Done, st.Since, "connected to "+st.Host
	case capture.Paused:
		s.State = Idle
	case capture.Disabled:
		s.State, s.Text = Done, "the capture is disabled; the channel stays subscribed"
		if strings.Contains(st.Cause, "the channel is not connected") {
			s.State, s.Text = Failed, "not connected"
		}
	case capture.Unsupported:
		s.State, s.Since, s.Text = Failed, st.Since, st.Cause
	case capture.Disconnected:
		s.State, s.Since, s.Text = Failed, st.AbsentSince, st.Cause
	default:
		s.State, s.Text = Idle, "never connected since the engine captures the PV"
		if st.Absent == sample.AccessDenied {
			s.State, s.Since, s.Text = Failed, st.AbsentSince, st.Cause
		}
	}
	if st.LostConnections > 0 {
		s.Text += fmt.Sprintf("; lost %d of %d connections", st.LostConnections, st.Connects)
	}
	return s
}

func receiveStep(f *Facts) Step {
	s, is := f.notLive(Received)
	if is {
		return s
	}
	st := &f.Status
	u := &st.Update
	switch {
	case u.Arrived == 0 && st.State == capture.Connected:
		s.State, s.Text = Failed, "no update has arrived yet"
		if st.Received > 0 || st.HasLast {
			s.State, s.Text = Unknown, fmt.Sprintf("%d updates; the engine is older, and does not say when the latest arrived", st.Received)
		}
	case u.Arrived == 0:
		s.State = Idle
	default:
		s.State, s.Text = Done, fmt.Sprintf("%s, the latest at %s with the time stamp %s", count(st.Received, "update"), clock(u.Arrived), clock(u.Time))
		if f.stampWrong() {
			s.State, s.Text = Failed, s.Text+", which is "+f.clockOffset()+" its arrival"
		}
		if st.State != capture.Connected && st.State != capture.Disabled {
			s.State = Idle
		}
	}
	return s
}

func filterStep(f *Facts) Step {
	s, is := f.notLive(Filtered)
	if is {
		return s
	}
	st := &f.Status
	s.State = Done
	var parts []string
	if st.State == capture.Disabled {
		s.State = Failed
		parts = append(parts, st.Cause)
	} else if st.EnabledBy != "" {
		parts = append(parts, "enabledBy: "+st.EnabledBy)
	}
	if st.Filters != "" {
		parts = append(parts, st.Filters)
	}
	drops := map[string]uint64{}
	for r, n := range st.Dropped {
		if n > 0 {
			drops[sample.Reason(r).String()] = n
		}
	}
	for _, r := range slices.Sorted(maps.Keys(drops)) {
		parts = append(parts, fmt.Sprintf("%d dropped: %s", drops[r], r))
	}
	if s.Text = strings.Join(parts, "; "); s.Text == "" {
		s.Text = "keeps every update"
	}
	if st.Update.Arrived == 0 && s.State == Done {
		s.State = Idle
	}
	return s
}

func journalStep(f *Facts) Step {
	s, is := f.notLive(Journaled)
	if is {
		return s
	}
	st := &f.Status
	s.State, s.Text = Done, fmt.Sprintf("%s stored, %d waiting", count(st.Stored, "sample"), f.pending())
	if st.HasLast {
		s.Text += ", the last one of " + clock(st.Last.Time)
	}
	switch {
	case f.Storage != "":
		s.State, s.Text = Failed, f.Storage+"; "+s.Text
	case f.EngineMissing != "":
		s.State, s.Text = Unknown, s.Text+"; whether the engine can store samples is not known: "+f.EngineMissing
	case st.Kept() == 0:
		s.State = Idle
	}
	return s
}

func storeStep(f *Facts) Step {
	s := Step{Name: InStore}
	switch {
	case f.StoreMissing != "":
		s.State, s.Text = Unknown, f.StoreMissing
	case len(f.Entry.Types) == 0:
		s.State, s.Text = Idle, "the store has no sample of the PV"
	case f.First == 0:
		s.State, s.Text = Done, "samples are in the journal, and in no block yet"
	default:
		s.State, s.Text = Done, "blocks since "+clock(f.First)+" in "+f.tiers()
	}
	if n := f.Entry.Damaged; n > 0 {
		s.State, s.Text = Failed, s.Text+fmt.Sprintf("; %d elements of its directory entry are damaged: run varve store check", n)
	}
	return s
}

// tiers lists the retention tiers that may have samples of the PV.
func (f *Facts) tiers() string {
	samples, _ := f.Entry.TiersInUse()
	var names []string
	for t, in := range samples {
		if in {
			names = append(names, store.Tier(t).String())
		}
	}
	if len(names) == 1 {
		return "tier " + names[0]
	}
	return "tiers " + strings.Join(names, ", ")
}

// levels lists the rollups of the PV.
func (f *Facts) levels() string {
	var all []string
	for _, l := range f.Entry.Levels {
		if l.Valid() {
			all = append(all, fmt.Sprintf("%v kept for %v", l.Every(), l.Tier()))
		}
	}
	return strings.Join(all, ", ")
}

func retentionStep(f *Facts) Step {
	s := Step{Name: Kept, State: Done}
	if f.StoreMissing != "" {
		s.State, s.Text = Unknown, f.StoreMissing
		return s
	}
	var parts []string
	if f.Captured {
		parts = append(parts, fmt.Sprintf("raw samples are kept for %v", f.Status.Retention.Raw))
	}
	if levels := f.levels(); levels != "" {
		parts = append(parts, "rollups of "+levels)
	}
	if f.Expired != 0 {
		parts = append(parts, "raw samples from before "+clock(f.Expired)+" have expired")
	}
	if f.Cutoff != 0 {
		parts = append(parts, "the disk guard deleted raw samples from before "+clock(f.Cutoff))
	}
	if f.IsDeleted {
		parts = append(parts, "samples from "+clock(f.Deleted.From)+" to "+clock(f.Deleted.To)+" were deleted on request")
	} else if n := len(f.Entry.Mask()); n > 0 {
		parts = append(parts, count(uint64(n), "other range")+" deleted on request")
	}
	if s.Text = strings.Join(parts, "; "); s.Text == "" {
		s.State = Idle
	}
	return s
}

func readStep(f *Facts) Step {
	s := Step{Name: Read, State: Done}
	switch {
	case f.StoreMissing != "":
		s.State, s.Text = Unknown, f.StoreMissing
	case f.ReadMissing != "":
		s.State, s.Text = Failed, f.ReadMissing
	case f.Last == 0:
		s.State, s.Text = Idle, "the archive has no sample until "+clock(f.At)
	default:
		s.Text = "the last sample is of " + clock(f.Last)
	}
	if f.CompleteUntil != 0 && f.CompleteUntil < f.At {
		s.Text += "; samples received after " + clock(f.CompleteUntil) + " may be missing"
	}
	if f.Lost > 0 {
		s.State, s.Text = Failed, s.Text+"; "+count(f.Lost, "sample")+" in damaged blocks"
	}
	return s
}
