package compile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

func at(d time.Duration) *metav1.Time { return new(metav1.NewTime(now.Add(d))) }

// pauseReasons returns why PVs are paused: "" if they are not, and "-" if there is no reason.
func pauseReasons(r Result) map[string]string {
	out := map[string]string{}
	for pv, ch := range byPV(r) {
		switch {
		case !ch.Settings.Paused && ch.Settings.PauseReason != "":
			out[pv] = "a reason without a pause"
		case ch.Settings.Paused && ch.Settings.PauseReason == "":
			out[pv] = "-"
		default:
			out[pv] = ch.Settings.PauseReason
		}
	}
	return out
}

// TestPlannedPauses compiles a group, and compiles it again each time its result changes according to NextExpiry.
func TestPlannedPauses(t *testing.T) {
	g := group("a", 0, v1alpha1.ArchiveGroupSpec{
		Pauses: []v1alpha1.PlannedPause{
			{From: at(-2 * time.Hour), To: at(-time.Hour), Reason: "over"},
			{Reason: "no times, which Kubernetes refuses"},
			{From: at(time.Hour), To: at(3 * time.Hour), Reason: "work on S", Match: "^S:"},
			{From: at(2 * time.Hour), To: at(4 * time.Hour), Reason: "shutdown"},
		},
		Channels: []v1alpha1.Channel{{Name: "S:A"}, {Name: "T:A"}, {Name: "S:B", Paused: ptr(true)}, {Name: "T:B", Paused: ptr(false)}},
	})
	const work = "work on S (planned from 2027-06-30T01:00:00Z to 2027-06-30T03:00:00Z)"
	const shutdown = "shutdown (planned from 2027-06-30T02:00:00Z to 2027-06-30T04:00:00Z)"
	moment := now
	for i, want := range []map[string]string{
		{"S:A": "", "T:A": "", "S:B": "-", "T:B": ""},
		{"S:A": work, "T:A": "", "S:B": "-", "T:B": ""},
		{"S:A": work, "T:A": shutdown, "S:B": "-", "T:B": shutdown},
		{"S:A": shutdown, "T:A": shutdown, "S:B": "-", "T:B": shutdown},
		{"S:A": "", "T:A": "", "S:B": "-", "T:B": ""},
	} {
		r := Compile([]v1alpha1.ArchiveGroup{g}, nil, Archive{Shards: 4}, moment)
		if diff := cmp.Diff(want, pauseReasons(r)); diff != "" {
			t.Errorf("%d h later: %s", i, diff)
		}
		if last := r.NextExpiry.IsZero(); last != (i == 4) || !last && !r.NextExpiry.After(moment) {
			t.Fatalf("%d h later, the result changes next at %v", i, r.NextExpiry)
		}
		moment = r.NextExpiry
	}
}

// TestAChannelEndsWhenItExpires checks that a PV that has expired is paused, counted, and captured by other groups.
func TestAChannelEndsWhenItExpires(t *testing.T) {
	past, soon := at(0), at(time.Hour)
	groups := []v1alpha1.ArchiveGroup{
		group("a", 0, v1alpha1.ArchiveGroupSpec{
			Retention: retention("1y"),
			Pauses:    []v1alpha1.PlannedPause{{From: at(-time.Hour), To: at(2 * time.Hour), Reason: "shutdown", Match: "B"}},
			Channels:  []v1alpha1.Channel{{Name: "A", ExpiresAt: past}, {Name: "B", ExpiresAt: past}, {Name: "C", ExpiresAt: soon}, {Name: "D", ExpiresAt: past, Paused: ptr(true)}, {Name: "E", ExpiresAt: past}},
		}),
		group("b", 1, v1alpha1.ArchiveGroupSpec{Channels: channels("E")}),
	}
	r := Compile(groups, nil, Archive{Shards: 4}, now)
	const ended = "its capture ended at 2027-06-30T00:00:00Z (expiresAt)"
	if diff := cmp.Diff(map[string]string{"A": ended, "B": ended, "C": "", "D": ended, "E": ""}, pauseReasons(r)); diff != "" {
		t.Error(diff)
	}
	if g := r.Groups["ns/a"]; g.Channels != 5 || g.Paused != 3 || g.Ended != 4 {
		t.Errorf("counted %d channels, %d paused, %d ended", g.Channels, g.Paused, g.Ended)
	}
	if !r.NextExpiry.Equal(soon.Time) {
		t.Errorf("the result changes next at %v", r.NextExpiry)
	}
	if r := Compile(groups, nil, Archive{Shards: 4}, soon.Time); r.Groups["ns/a"].Ended != 5 || byPV(r)["A"].Settings.Retention != byPV(r)["C"].Settings.Retention {
		t.Errorf("later, %d have ended", r.Groups["ns/a"].Ended)
	}
}
