package groupstatus

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/groups/compile"
)

var now = time.Date(2027, 6, 30, 12, 0, 0, 0, time.UTC)

// good returns a group of 3 channels without problems.
func good(changes ...func(*Input)) Input {
	in := Input{
		Group: &v1alpha1.ArchiveGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: "va", Generation: 7},
			Spec:       v1alpha1.ArchiveGroupSpec{ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}},
		},
		ArchiverFound:      true,
		Compiled:           &compile.Group{Channels: 3, ByShard: map[int]int{1: 2, 5: 1}},
		CompiledGeneration: 7,
		Synced:             true,
		Now:                now,
	}
	for _, change := range changes {
		change(&in)
	}
	return in
}

// texts returns conditions as text: "Status Reason: message" by type.
func texts(s v1alpha1.ArchiveGroupStatus) map[string]string {
	out := map[string]string{}
	for _, c := range s.Conditions {
		out[c.Type] = strings.TrimSuffix(fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message), ": ")
	}
	return out
}

func TestConditionsFollowCompilation(t *testing.T) {
	usual := map[string]string{
		"Ready":       "True Captured: engines capture all channels of the group",
		"Reconciling": "False Captured: engines are up to date with the group",
		"Stalled":     "False NotStalled",
		"Degraded":    "False NoProblems",
		"Conflicted":  "False NoSharedChannels",
		"Expired":     "False NotExpired: expiresAt is not set",
	}
	at := func(d time.Duration) *metav1.Time { end := metav1.NewTime(now.Add(d)); return &end }
	for _, tc := range []struct {
		name   string
		change func(*Input)
		want   map[string]string // differences from good; "" for a missing condition
	}{
		{"no problems", func(*Input) {}, nil},
		{"no Archiver", func(in *Input) { in.ArchiverFound, in.Compiled = false, nil }, map[string]string{
			"Ready":       `False ArchiverNotFound: there is no Archiver "main" in this namespace`,
			"Reconciling": `False ArchiverNotFound: there is no Archiver "main" in this namespace`,
			"Stalled":     `False ArchiverNotFound: there is no Archiver "main" in this namespace`,
			"Degraded":    `Unknown ArchiverNotFound: there is no Archiver "main" in this namespace`,
			"Conflicted":  `Unknown ArchiverNotFound: there is no Archiver "main" in this namespace`,
		}},
		{"new", func(in *Input) { in.Compiled = nil }, map[string]string{
			"Ready":       "False Compiling: the operator has not processed the group yet",
			"Reconciling": "True Compiling: the operator has not processed the group yet",
			"Stalled":     "False Compiling: the operator has not processed the group yet",
			"Degraded":    "Unknown Compiling: the operator has not processed the group yet",
			"Conflicted":  "Unknown Compiling: the operator has not processed the group yet",
		}},
		{"redundancy", func(in *Input) { in.Compiled.Redundant = 2 }, map[string]string{
			"Ready": "True Captured: engines capture all channels of the group; 2 of them have redundancy 2: see the condition Redundant of the Archiver",
		}},
		{"edited", func(in *Input) { in.CompiledGeneration = 6 }, map[string]string{
			"Reconciling": "True Compiling: a change of the group is being compiled",
		}},
		{"being assigned", func(in *Input) { in.Outdated = 1 }, map[string]string{
			"Ready":       "False RollingOut: 1 of the group's 2 shards are being assigned to engines",
			"Reconciling": "True RollingOut: 1 of the group's 2 shards are being assigned to engines",
		}},
		{"no engine", func(in *Input) { in.Outdated, in.Unplaced = 2, 64 }, map[string]string{
			"Ready":       "False NoEngine: 2 of the group's 2 shards are not up to date: the Archiver has no engine for 64 shards",
			"Reconciling": "True NoEngine: 2 of the group's 2 shards are not up to date: the Archiver has no engine for 64 shards",
		}},
		{"nothing to capture", func(in *Input) { in.Compiled = &compile.Group{} }, map[string]string{
			"Ready":   "False NoChannels: the group has no channel that can be captured",
			"Stalled": "True NoChannels: the group has no channel that can be captured",
		}},
		{"paused", func(in *Input) { in.Compiled.Paused = 3 }, map[string]string{
			"Ready": "True Paused: all channels of the group are paused",
		}},
		{"rules without a PV", func(in *Input) { in.Compiled.ByRule = []int{0, 3, 0} }, map[string]string{
			"Questionable": "True UnusedRules: 2 rules without a PV: spec.rules[0]; spec.rules[2]. No name matches, or earlier rules match all of them. " +
				"Run varve plan to see which rule applies to which PV",
		}},
		{"expires", func(in *Input) { in.Group.Spec.ExpiresAt = at(time.Hour) }, map[string]string{
			"Expired": "False NotExpired: expiresAt is in the future",
		}},
		{"expired", func(in *Input) {
			in.Group.Spec.ExpiresAt, in.Compiled = at(0), &compile.Group{Expired: true}
		}, map[string]string{
			"Ready":   "True Expired: the group has expired: its PVs are no longer captured, as spec.expiresAt says, and its data stays",
			"Expired": "True Expired: expiresAt has passed",
		}},
		{"deleting data", func(in *Input) {
			in.Group.DeletionTimestamp, in.Compiled = at(0), &compile.Group{Deleting: 3}
		}, map[string]string{
			"Ready":       "False DeletingData: the data of 3 PVs is being deleted",
			"Reconciling": "True DeletingData: the data of 3 PVs is being deleted",
		}},
		{"deleted", func(in *Input) { in.Group.DeletionTimestamp = at(0) }, map[string]string{
			"Ready":       "False Deleting: the group is being deleted",
			"Reconciling": "True Deleting: the group is being deleted",
		}},
		{"one problem", func(in *Input) {
			in.Compiled.Problems = []compile.Problem{{Message: `ConfigMap "pvs" is missing`}}
		}, map[string]string{
			"Stalled":  `True Problems: 1 problem: ConfigMap "pvs" is missing`,
			"Degraded": `True Problems: 1 problem: ConfigMap "pvs" is missing`,
		}},
		{"many problems", func(in *Input) {
			for i := range 100 {
				in.Compiled.Problems = append(in.Compiled.Problems, compile.Problem{PV: fmt.Sprintf("SR %02d", i), Message: "wrong"})
			}
			in.Compiled.MoreProblems = 200_000
		}, map[string]string{
			"Stalled":  "True Problems: 200100 problems: SR 00: wrong; SR 01: wrong; SR 02: wrong; and 200097 more",
			"Degraded": "True Problems: 200100 problems: SR 00: wrong; SR 01: wrong; SR 02: wrong; and 200097 more",
		}},
		{"conflicts", func(in *Input) {
			in.Compiled.Conflicts = []compile.Conflict{{PV: "SR:A", Groups: []string{"ops/a", "ops/va"}}, {PV: "SR:B", Groups: []string{"ops/va", "ops/b"}}}
			in.Compiled.MoreConflicts = 3
		}, map[string]string{
			"Conflicted": "True SharedChannels: 5 PVs also in other groups; the settings that keep more data apply, and one of the groups counts each PV: " +
				"SR:A (ops/a, ops/va); SR:B (ops/va, ops/b); and 3 more",
		}},
		{"providers", func(in *Input) {
			in.Compiled.Conflicts = []compile.Conflict{
				{PV: "SR:A", Groups: []string{"ops/a", "ops/va"}, DifferentProviders: true, Provider: capture.PVA}, {PV: "SR:B", Groups: []string{"ops/va", "ops/b"}},
			}
			in.Compiled.DifferentProviders = 1
		}, map[string]string{
			"Conflicted": "True DifferentProviders: 2 PVs also in other groups, 1 of them with another provider; the provider of the oldest group is used: " +
				"SR:A (ops/a, ops/va; captured by PVA); SR:B (ops/va, ops/b)",
		}},
		{"names that look like patterns", func(in *Input) {
			in.Compiled.Patterns, in.Compiled.MorePatterns = []string{"BL*", "X?", "A*", "B*", "C*"}, 7
		},
			map[string]string{
				"Questionable": `True NamesLookLikePatterns: 12 channel names with * or ?: "BL*"; "X?"; "A*"; and 9 more. A name is not a pattern: a PV of ` +
					"exactly this name is searched for. List the PVs, or take them from ChannelFinder with spec.channelsFrom",
			}},
		{"retention", func(in *Input) {
			in.Compiled.Retention, in.Compiled.KeptLonger = true, 2
			in.Group.Spec.Retention = &v1alpha1.Retention{Raw: new(v1alpha1.Duration("45d"))}
		}, map[string]string{
			"RetentionApplied": "True Applied: raw samples are kept for 90d (requested: 45d); data of 2 PVs is kept longer because of other groups",
		}},
		{"retention of some channels", func(in *Input) { in.Compiled.Retention = true }, map[string]string{
			"RetentionApplied": "True Applied: raw samples are kept forever",
		}},
	} {
		want := map[string]string{}
		for kind, text := range usual {
			want[kind] = text
		}
		for kind, text := range tc.want {
			want[kind] = text
		}
		if diff := cmp.Diff(want, texts(Compute(good(tc.change)))); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

// Messages must fit into a condition.
func TestMessagesAreBounded(t *testing.T) {
	s := Compute(good(func(in *Input) {
		for range 100 {
			in.Compiled.Problems = append(in.Compiled.Problems, compile.Problem{Message: strings.Repeat("ä", 20_000)})
		}
	}))
	if n := len(meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionDegraded).Message); n > 2000 {
		t.Errorf("a message has %d bytes, which is too long", n)
	}
}

func reports(groups ...report.Group) (out []report.Report) {
	for i, g := range groups {
		out = append(out, report.Report{Engine: fmt.Sprint("engine-", i), Groups: map[string]report.Group{"ops/va": g, "ops/other": {Connected: 99, SamplesPerSecond: 99}}})
	}
	return out
}

func TestCountsAreSumsOverEngines(t *testing.T) {
	since := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	s := Compute(good(func(in *Input) {
		in.Compiled.Channels, in.Compiled.Ended = 10, 1
		in.Reports = reports(
			report.Group{
				Channels: 4, Connected: 2, Disconnected: 1, NeverConnected: 1, SamplesPerSecond: 100.4, BytesPerDay: 1_234_567,
				Worst: []report.Channel{{PV: "SR:A", Reason: "NeverConnected", Since: since(-9)}, {PV: "SR:B", Reason: "Disconnected", Message: "IOC unreachable", Since: since(-1)}},
			},
			report.Group{
				Channels: 5, Connected: 3, Silent: 1, Paused: 2, SamplesPerSecond: 23.2,
				Worst: []report.Channel{{PV: "SR:C", Reason: "Disconnected", Since: since(-5)}, {PV: "SR:A", Reason: "NeverConnected", Since: since(-8)}},
			},
		)
	}))
	want := v1alpha1.ArchiveGroupStatus{
		Channels: &v1alpha1.ChannelCounts{Total: 10, Connected: 5, Disconnected: 1, NeverConnected: 1, Silent: 1, Paused: 2, Expired: 1},
		Rates:    &v1alpha1.Rates{SamplesPerSecond: 120, BytesPerDay: 1_200_000},
		WorstChannels: []v1alpha1.WorstChannel{
			{Name: "SR:A", Reason: "NeverConnected"}, {Name: "SR:C", Reason: "Disconnected"}, {Name: "SR:B", Reason: "Disconnected", Message: "IOC unreachable"},
		},
	}
	s.Conditions, s.ObservedGeneration = nil, 0
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
}

func TestWorstChannelsAreAtMostTwenty(t *testing.T) {
	var g report.Group
	for i := range 50 {
		g.Worst = append(g.Worst, report.Channel{PV: fmt.Sprint("SR:", i), Reason: strings.Repeat("x", 100), Message: strings.Repeat("ü", 1000), Since: now.Add(time.Duration(i))})
	}
	w := Compute(good(func(in *Input) { in.Reports = reports(g, g) })).WorstChannels
	if len(w) != 20 || w[0].Name != "SR:0" || w[19].Name != "SR:19" {
		t.Errorf("%d channels: %v", len(w), w)
	}
	if len(w[0].Reason) > 64 || len(w[0].Message) > 512 {
		t.Errorf("the reason has %d bytes and the message has %d bytes", len(w[0].Reason), len(w[0].Message))
	}
}

// Neither noise in the rates nor the passing of time changes the status.
func TestNoiseChangesNothing(t *testing.T) {
	in := good(func(in *Input) {
		in.Reports = reports(report.Group{Connected: 3, SamplesPerSecond: 149, BytesPerDay: 1e9})
	})
	first := Compute(in)
	in.Group.Status = &first
	in.Now = now.Add(time.Hour)
	for _, rate := range []float64{149.9, 150.1, 144, 156} {
		in.Reports = reports(report.Group{Connected: 3, SamplesPerSecond: rate, BytesPerDay: 1e9 + rate})
		if s := Compute(in); Changed(&first, s, time.Hour) {
			t.Errorf("%v samples/s: %s", rate, cmp.Diff(first, s))
		}
	}
	in.Reports = reports(report.Group{Connected: 3, SamplesPerSecond: 170, BytesPerDay: 1e9})
	if s := Compute(in); !Changed(&first, s, time.Hour) || s.Rates.SamplesPerSecond != 170 {
		t.Errorf("170 samples/s are %v", s.Rates.SamplesPerSecond)
	}
	in.Reports = nil
	if s := Compute(in); s.Rates.SamplesPerSecond != 0 || s.Channels.Connected != 0 {
		t.Errorf("without engines: %+v %+v", s.Rates, s.Channels)
	}
}

// After a restart, the operator has no reports, but it must not remove anything from the
// status.
func TestOperatorRestartChangesNothing(t *testing.T) {
	in := good(func(in *Input) {
		in.Reports = reports(report.Group{Connected: 3, SamplesPerSecond: 5, Worst: []report.Channel{{PV: "SR:A", Reason: "Disconnected"}}})
	})
	before := Compute(in)
	in.Group.Status, in.Reports, in.Synced = &before, nil, false
	compiled := in.Compiled
	in.Compiled, in.CompiledGeneration = nil, 0
	if s := Compute(in); Changed(&before, s, time.Hour) {
		t.Errorf("before the first compilation: %s", cmp.Diff(before, s))
	}
	in.Compiled, in.CompiledGeneration = compiled, 7
	if s := Compute(in); Changed(&before, s, time.Hour) {
		t.Errorf("before the first report: %s", cmp.Diff(before, s))
	}
}

func TestTransitionsAreWrittenAtOnce(t *testing.T) {
	in := good()
	before := Compute(in)
	in.Group.Status = &before
	in.Now = now.Add(time.Hour)
	in.Compiled = &compile.Group{Channels: 3, Problems: []compile.Problem{{Message: "wrong"}}}
	after := Compute(in)
	if at := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionDegraded).LastTransitionTime; !at.Time.Equal(in.Now) {
		t.Errorf("Degraded since %v", at)
	}
	if at := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionReady).LastTransitionTime; !at.Time.Equal(now) {
		t.Errorf("Ready since %v", at)
	}
	if texts(before)[v1alpha1.ConditionDegraded] != "False NoProblems" {
		t.Error("the status of the group was changed")
	}

	// A transition is written at once; a change of only a text or number is written later.
	other := *after.DeepCopy()
	meta.FindStatusCondition(other.Conditions, v1alpha1.ConditionDegraded).Message = "another"
	counted := *after.DeepCopy()
	counted.Channels.Connected++
	retention := *after.DeepCopy()
	meta.RemoveStatusCondition(&retention.Conditions, v1alpha1.ConditionExpired)
	for name, tc := range map[string]struct {
		old         *v1alpha1.ArchiveGroupStatus
		computed    v1alpha1.ArchiveGroupStatus
		soon, later bool
	}{
		"no status yet":     {nil, after, true, true},
		"the same":          {&after, after, false, false},
		"transition":        {&before, after, true, true},
		"text":              {&after, other, false, true},
		"number":            {&after, counted, false, true},
		"condition removed": {&after, retention, true, true},
	} {
		if soon, later := Changed(tc.old, tc.computed, time.Second), Changed(tc.old, tc.computed, 30*time.Second); soon != tc.soon || later != tc.later {
			t.Errorf("%s: Changed returns %v after 1 s and %v after 30 s", name, soon, later)
		}
	}
}
