package why

import (
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/absence"
	"varve.dev/varve/engine/store"
)

const (
	present = int64(1_767_225_600e9) // 2026-01-01
	second  = int64(time.Second)
	minute  = 60 * second
	hour    = 60 * minute
)

// healthy are the facts of a PV whose samples arrive.
func healthy() *Facts {
	return &Facts{
		PV: "SR:I", At: present, Now: present, Captured: true,
		Status: capture.Status{
			PV: "SR:I", Group: "lab/ring", State: capture.Connected, Since: present - hour, Host: "ioc:5064", Sampling: "Monitor", Rate: 1, Connects: 1,
			Received: 3600, Stored: 3599, HasLast: true, Last: sample.Sample{Time: present - second}, Update: capture.Update{Arrived: present - second, Time: present - second},
			Retention: store.Retention{Raw: store.Keep1y},
		},
		Groups: []Group{{Name: "lab/ring"}},
		Stored: Stored{Known: true, Marked: true, Mark: sample.Mark{Time: present - hour, Kind: sample.Connected, Text: "ioc:5064"}, Last: present - second, First: present - hour,
			Entry: store.Channel{PV: "SR:I", Types: []sample.Type{sample.Float64}, Starts: []store.Bucket{store.Year.Of(present - hour).In(store.Keep1y)}}},
	}
}

// absentBy makes the channel absent.
func absentBy(f *Facts, s capture.State, k sample.MarkKind, cause string) {
	f.Status.State, f.Status.Absent, f.Status.AbsentSince, f.Status.Since, f.Status.Cause, f.Status.Rate = s, k, present-minute, present-minute, cause, 0
}

// uncaptured makes the PV one that no group captures.
func uncaptured(f *Facts) { f.Captured, f.Status = false, capture.Status{} }

// unknown makes the PV one that the archive does not know.
func unknown(f *Facts) {
	uncaptured(f)
	f.Stored = Stored{Near: []string{"SR:I2", "SR:U"}}
}

// dropping makes the channel drop its updates since an hour.
func dropping(f *Facts, r sample.Reason) {
	f.Status.Update = capture.Update{Arrived: present - second, Time: present - second, Dropped: true, Reason: r}
	f.Status.Last.Time, f.Last = present-hour, present-hour
}

// TestOneCauseIsNamed checks the cause, its step, its time and the advice of each situation.
func TestOneCauseIsNamed(t *testing.T) {
	for _, c := range []struct {
		name  string
		facts func(f *Facts)
		cause string // "": samples arrive
		step  string
		since int64
		says  []string // parts of the text and the advice
	}{
		{name: "samples arrive", facts: func(*Facts) {}, says: []string{"samples arrive: the last one is of 2025-12-31T23:59:59Z"}},
		{name: "the IOC sends nothing new", facts: func(f *Facts) {
			f.Status.Rate, f.Status.Update.Arrived, f.Status.Update.Time, f.Status.Last.Time, f.Last = 0, present-hour, present-hour, present-hour, present-hour
		}, says: []string{"the archive has the latest value, of 2025-12-31T23:00:00Z; the IOC has sent no update since"}},
		{name: "an old first value", facts: func(f *Facts) {
			f.Status.Update = capture.Update{Arrived: present - hour, Time: present - 99*hour, First: true}
			f.Status.Rate, f.Status.Last.Time = 0, present-99*hour
		}, says: []string{"the archive has the latest value"}},
		{name: "connected a moment ago", facts: func(f *Facts) {
			f.Status.HasLast, f.Status.Update, f.Last, f.Status.Since = false, capture.Update{}, 0, present-second
		}, says: []string{"its first value has not arrived yet"}},

		{name: "no group, not known", facts: unknown, cause: UnknownPV, step: InGroup, says: []string{"no PV of this name", "Names that are like it: SR:I2, SR:U."}},
		{name: "misspelt", facts: func(f *Facts) { unknown(f); f.PV = "sr:i2" }, cause: UnknownPV, step: InGroup, says: []string{"Did you mean SR:I2? Names of PVs are case-sensitive."}},
		{name: "misspelt, and another group is invalid", facts: func(f *Facts) {
			unknown(f)
			f.PV, f.GroupsIncomplete = "sr:i2", "a manifest is invalid: x.yaml"
		}, cause: UnknownPV, step: InGroup},
		{name: "groups are not known", facts: func(f *Facts) { unknown(f); f.GroupsMissing = "you may not read them" }, cause: UnknownPV, step: InGroup, says: []string{"could not be checked for errors: you may not read them"}},
		{name: "an invalid manifest", facts: func(f *Facts) { unknown(f); f.GroupsIncomplete = "a manifest is invalid: x.yaml:3" }, cause: InvalidGroup, step: InGroup, says: []string{"x.yaml:3", "Correct the group"}},
		{name: "a group without its ConfigMap", facts: func(f *Facts) { unknown(f); f.Groups[0].Errors = []string{"ConfigMap pvs does not exist"} }, cause: InvalidGroup, step: InGroup,
			says: []string{"group lab/ring: ConfigMap pvs does not exist"}},
		{name: "a policy refuses the PV", facts: func(f *Facts) { unknown(f); f.Groups[0].OfPV = []string{"vacuum owns it"} }, cause: InvalidGroup, step: InGroup,
			says: []string{"group lab/ring lists the PV, but does not capture it: vacuum owns it"}},
		{name: "removed", facts: func(f *Facts) {
			uncaptured(f)
			f.Mark = sample.Mark{Time: present - hour, Kind: sample.Removed, Text: "lab/ring"}
		}, cause: "removed", step: InGroup, since: present - hour, says: []string{"the last group was lab/ring"}},
		{name: "the group has ended", facts: func(f *Facts) {
			uncaptured(f)
			f.Mark = sample.Mark{Time: present - hour, Kind: sample.Removed, Text: "lab/ring"}
			f.Groups[0].ExpiresAt = present - hour - minute
		}, cause: ExpiredGroup, step: InGroup, since: present - hour - minute, says: []string{"group lab/ring ended", "spec.expiresAt"}},
		{name: "a former name", facts: func(f *Facts) { uncaptured(f); f.PV, f.Later = "SR:OLD", []string{"SR:I"} }, cause: FormerName, step: InGroup,
			says: []string{"SR:OLD is a former name of SR:I", "varve why SR:I"}},
		{name: "an alias of an absent PV", facts: func(f *Facts) {
			f.PV, f.AliasOf = "SR:ALIAS", "SR:I"
			absentBy(f, capture.Disconnected, sample.Disconnected, "lost ioc")
		}, cause: "disconnected", step: Connected, since: present - minute, says: []string{"lost ioc"}},
		{name: "the engine does not answer", facts: func(f *Facts) { uncaptured(f); f.StatusMissing = "engine-0: timeout" }, cause: absence.Unknown, step: InGroup, says: []string{"engine-0: timeout"}},
		{name: "no group, and the store is away", facts: func(f *Facts) { uncaptured(f); f.Stored = Stored{StoreMissing: "no node answers"} }, cause: absence.NotCaptured, step: InGroup,
			says: []string{"no group captures the PV; since when is not known: no node answers"}},

		{name: "paused", facts: func(f *Facts) {
			absentBy(f, capture.Paused, sample.Paused, "group lab/ring is paused")
		}, cause: "paused", step: InGroup, since: present - minute, says: []string{"group lab/ring is paused", "Remove paused"}},
		{name: "planned pause", facts: func(f *Facts) {
			absentBy(f, capture.Paused, sample.Paused, "group lab/ring pauses the PV: shutdown (planned from a to b)")
		}, cause: "paused", step: InGroup, since: present - minute, says: []string{"shutdown", "spec.pauses"}},
		{name: "the channel has ended", facts: func(f *Facts) {
			absentBy(f, capture.Paused, sample.Paused, "group lab/ring pauses the PV: its capture ended at t (expiresAt)")
		}, cause: "paused", step: InGroup, since: present - minute, says: []string{"Remove expiresAt"}},
		{name: "disabled", facts: func(f *Facts) {
			absentBy(f, capture.Disabled, sample.Disabled, "enabledBy: E != 0 has not been met since t: E is 0")
		}, cause: "disabled", step: Filtered, since: present - minute, says: []string{"E is 0"}},
		{name: "nobody answers, nor for others", facts: func(f *Facts) { absentBy(f, capture.Searching, sample.Searching, "asked by UDP 1.2.3.4") }, cause: "searching", step: Searched,
			since: present - minute, says: []string{"asked by UDP 1.2.3.4", "check that the addresses reach it"}},
		{name: "nobody answers, but for others", facts: func(f *Facts) {
			absentBy(f, capture.Searching, sample.Searching, "asked by UDP 1.2.3.4")
			f.Groups = append(f.Groups, Group{Name: "lab/ring", Channels: 8, Connected: 7})
		}, cause: "searching", step: Searched, since: present - minute, says: []string{"7 of 8 PVs of group lab/ring are connected"}},
		{name: "refused", facts: func(f *Facts) { absentBy(f, capture.Searching, sample.Refused, "ioc refuses") }, cause: "refused", step: Searched, since: present - minute},
		{name: "denied", facts: func(f *Facts) {
			absentBy(f, capture.Searching, sample.AccessDenied, "the server denies read access")
		}, cause: "access_denied", step: Connected, since: present - minute, says: []string{"access security"}},
		{name: "unsupported", facts: func(f *Facts) {
			absentBy(f, capture.Unsupported, 0, "values of type X cannot be archived")
		}, cause: absence.Unsupported, step: Connected, since: present - minute},
		{name: "silent", facts: func(f *Facts) { f.Status.Silent, f.Status.Update, f.Status.HasLast = true, capture.Update{}, false }, cause: absence.Silent, step: Received, since: present - hour,
			says: []string{"no value has arrived"}},

		{name: "within the deadband", facts: func(f *Facts) { dropping(f, sample.Deadband); f.Status.Filters = "deadband 5" }, cause: "deadband", step: Filtered, since: present - hour,
			says: []string{"within the deadband of the last sample, of 2025-12-31T23:00:00Z (deadband 5)", "maxPeriod"}},
		{name: "within the deadband, with the engine's time", facts: func(f *Facts) {
			dropping(f, sample.Deadband)
			f.Status.Update.Time, f.Status.Last.Tag = present-90*hour, sample.EngineClock
		}, cause: "deadband", step: Filtered, since: present - hour},
		{name: "within the deadband, a moment ago", facts: func(f *Facts) { dropping(f, sample.Deadband); f.Status.Last.Time = present - 5*second }, says: []string{"samples arrive"}},
		{name: "a refused clock", facts: func(f *Facts) { dropping(f, sample.Clock); f.Status.Update.Time = present - 50*hour }, cause: "clock", step: Received,
			says: []string{"2025-12-29T22:00:00Z, is 2 days before its arrival", "NTP"}},
		{name: "a wrong clock", facts: func(f *Facts) {
			f.Status.Update.Time, f.Status.Last.Time = present-3*hour, present-3*hour
		}, cause: WrongClock, step: Received, says: []string{"at wrong times", "before its arrival"}},
		{name: "a clock ahead", facts: func(f *Facts) {
			f.Status.Update.Time, f.Status.Last.Time = present+4*minute, present+4*minute
		}, cause: WrongClock, step: Received, says: []string{"after its arrival"}},
		{name: "a wrong clock, with the engine's time", facts: func(f *Facts) { f.Status.Update.Time, f.Status.Last.Tag = present-3*hour, sample.EngineClock }, says: []string{"samples arrive"}},
		{name: "too large", facts: func(f *Facts) { dropping(f, sample.TooLarge) }, cause: "too_large", step: Filtered, since: present - hour},
		{name: "the store refuses samples", facts: func(f *Facts) {
			f.Storage = "StorageAway: the store does not accept samples"
			f.Status.Stored, f.StoreMissing = 3000, "no node answers"
		}, cause: StoreAway, step: Journaled, says: []string{"StorageAway", "600 samples of the PV wait"}},
		{name: "the store cannot be read", facts: func(f *Facts) { f.StoreMissing = "no node answers" }, cause: Unreadable, step: InStore, says: []string{"no node answers"}},
		{name: "a read fails", facts: func(f *Facts) { f.ReadMissing = "a row is damaged" }, cause: Unreadable, step: Read, says: []string{"a row is damaged"}},
		{name: "reads lag", facts: func(f *Facts) { f.CompleteUntil = present - 10*minute }, cause: Lagging, step: Read, since: present - 10*minute},
		{name: "reads lag, and nothing has come since", facts: func(f *Facts) {
			f.CompleteUntil, f.Status.Update.Arrived = present-10*minute, present-hour
			f.Status.Update.Time = present - hour
		}, says: []string{"the archive has the latest value"}},

		{name: "earlier: a sample", facts: func(f *Facts) { f.At, f.Last = present-10*minute, present-10*minute }, says: []string{"the last sample until 2025-12-31T23:50:00Z"}},
		{name: "earlier: deleted", facts: func(f *Facts) {
			f.At, f.Deletion = present-10*minute, "group lab/ring: wrong unit"
			f.IsDeleted, f.Deleted = true, store.Deleted{From: present - 20*minute, To: present - 5*minute}
		}, cause: Deleted, step: Kept, since: present - 20*minute, says: []string{"from 2025-12-31T23:40:00Z to 2025-12-31T23:55:00Z were deleted on request: group lab/ring: wrong unit"}},
		{name: "earlier: expired", facts: func(f *Facts) {
			f.At, f.First, f.Expired, f.Last = present-900*hour, present-1000*hour, present-500*hour, 0
			f.Status.Retention.Raw = store.Keep30d
		}, cause: Expired, step: Kept, says: []string{"have expired (the group keeps raw samples for 30d now)", "Nothing of that time is left"}},
		{name: "earlier: expired, with rollups", facts: func(f *Facts) {
			f.At, f.First, f.Expired, f.Last = present-900*hour, present-1000*hour, present-500*hour, 0
			f.Entry.Levels = []store.Level{store.LevelOf(time.Minute, store.Forever)}
		}, cause: Expired, step: Kept, says: []string{"Read rollups, which are kept for longer: 1m0s kept for forever"}},
		{name: "earlier: the disk guard", facts: func(f *Facts) { f.At, f.Cutoff, f.Last = present-30*minute, present-10*minute, 0 }, cause: DiskGuard, step: Kept, says: []string{"disk guard"}},
		{name: "earlier: not captured yet", facts: func(f *Facts) { f.At, f.Marked, f.Last = present-100*hour, false, 0 }, cause: NotYet, step: InGroup, says: []string{"it was not captured yet"}},
		{name: "earlier: disconnected", facts: func(f *Facts) {
			f.At, f.Last = present-10*minute, present-hour
			f.Mark = sample.Mark{Time: present - 30*minute, Kind: sample.Disconnected, Text: "lost ioc"}
		}, cause: "disconnected", step: Connected, since: present - 30*minute, says: []string{"lost ioc"}},
		{name: "earlier: lost", facts: func(f *Facts) {
			f.At, f.Last = present-10*minute, present-11*minute
			f.IsLost, f.Loss = true, sample.Mark{Time: present - 11*minute, End: present - 9*minute, Kind: sample.Lost, Reason: sample.Overflow, Count: 7}
		}, cause: "lost", step: Filtered, since: present - 11*minute, says: []string{"7 samples of the time were lost: overflow"}},
		{name: "earlier: the engine died", facts: func(f *Facts) {
			f.At, f.Last = present-10*minute, present-hour
			f.Mark = sample.Mark{Time: present - 30*minute, Kind: sample.Died}
		}, cause: "died", step: InGroup, since: present - 30*minute},
		{name: "earlier: the store is away", facts: func(f *Facts) { f.At, f.Stored = present-10*minute, Stored{StoreMissing: "no node answers"} }, cause: absence.Unknown, step: InStore},
		{name: "earlier: not known", facts: func(f *Facts) { unknown(f); f.At = present - hour }, cause: UnknownPV, step: InGroup},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := healthy()
			c.facts(f)
			a := Explain(f)
			if a.OK != (c.cause == "") || a.Cause != c.cause || a.Step != c.step || a.Since != c.since {
				t.Errorf("the cause is %q at step %q since %d (ok: %v), want %q at %q since %d:\n%s", a.Cause, a.Step, a.Since, a.OK, c.cause, c.step, c.since, a.Text)
			}
			for _, want := range c.says {
				if text := a.Text + " " + a.Advice; !strings.Contains(text, want) {
					t.Errorf("the answer is\n%s\nand lacks %q", text, want)
				}
			}
			checkSteps(t, &a)
		})
	}
}

// checkSteps checks that all steps are there, and that the step of the cause does not look right.
func checkSteps(t *testing.T, a *Answer) {
	t.Helper()
	var names []string
	for _, s := range a.Steps {
		names = append(names, s.Name)
		if s.Name == a.Step && (s.State == Done || s.State == Idle || s.Text == "") {
			t.Errorf("step %s of the cause %s is %s: %s", s.Name, a.Cause, s.State, s.Text)
		}
		if s.State == Unknown && s.Text == "" {
			t.Errorf("step %s is unknown, and does not say why", s.Name)
		}
		if a.OK && s.State == Failed {
			t.Logf("samples arrive, and step %s is %s: %s", s.Name, s.State, s.Text)
		}
	}
	if !slices.Equal(names, Names()) {
		t.Errorf("the steps are %v", names)
	}
}

// TestNothingLooksRightThatWasNotAsked takes one source away after the other, and checks that no step is ok that needs it.
func TestNothingLooksRightThatWasNotAsked(t *testing.T) {
	for name, c := range map[string]struct {
		take  func(f *Facts)
		steps []string
	}{
		"channel": {func(f *Facts) { uncaptured(f); f.StatusMissing = "no answer" }, []string{InGroup, Searched, Connected, Received, Filtered, Journaled}},
		"store":   {func(f *Facts) { f.Stored = Stored{StoreMissing: "no answer"} }, []string{InStore, Kept, Read}},
		"engine":  {func(f *Facts) { f.EngineMissing = "no answer" }, []string{Journaled}},
		"read":    {func(f *Facts) { f.ReadMissing, f.Last = "no answer", 0 }, []string{Read}},
	} {
		f := healthy()
		c.take(f)
		for _, s := range Explain(f).Steps {
			if slices.Contains(c.steps, s.Name) && (s.State != Unknown && s.State != Failed || !strings.Contains(s.Text, "no answer")) {
				t.Errorf("without the %s, step %s is %s: %s", name, s.Name, s.State, s.Text)
			}
		}
	}
}
