package compile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
)

var now = time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC)

// group returns a group that was created the given number of minutes after a common start.
func group(name string, minutes int, spec v1alpha1.ArchiveGroupSpec) v1alpha1.ArchiveGroup {
	created := metav1.NewTime(now.AddDate(-1, 0, 0).Add(time.Duration(minutes) * time.Minute))
	return v1alpha1.ArchiveGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: created},
		Spec:       spec,
	}
}

func channels(names ...string) []v1alpha1.Channel {
	var out []v1alpha1.Channel
	for _, name := range names {
		out = append(out, v1alpha1.Channel{Name: name})
	}
	return out
}

// byPV returns the captured channels of all shards, by PV.
func byPV(r Result) map[string]capture.Channel {
	out := map[string]capture.Channel{}
	for _, list := range r.Assignment {
		for _, c := range list {
			out[c.PV] = c
		}
	}
	return out
}

func TestDefaultSettings(t *testing.T) {
	r := Compile([]v1alpha1.ArchiveGroup{group("a", 0, v1alpha1.ArchiveGroupSpec{Channels: channels("ca://SR:X.VAL")})}, nil, Archive{Shards: 8}, now)
	want := capture.Channel{PV: "SR:X", Group: "ns/a", Settings: &capture.Settings{
		Mode:   capture.Monitor,
		Events: capture.EventLog | capture.EventAlarm,
		Clock:  capture.SourceClock, Ahead: 5 * time.Minute, Behind: 24 * time.Hour, OnClock: capture.Restamp,
	}}
	shard := r.Assignment[pvname.Shard("SR:X", 8)]
	if diff := cmp.Diff([]capture.Channel{want}, shard); diff != "" {
		t.Error(diff)
	}
	if len(r.Assignment) != 8 {
		t.Errorf("%d of 8 shards are listed", len(r.Assignment))
	}
}

func TestEqualSettingsAreShared(t *testing.T) {
	rate := 10.0
	fast := &v1alpha1.Sampling{MaxRate: &rate}
	r := Compile([]v1alpha1.ArchiveGroup{
		group("a", 0, v1alpha1.ArchiveGroupSpec{Sampling: fast, Channels: channels("A", "B")}),
		group("b", 1, v1alpha1.ArchiveGroupSpec{Channels: []v1alpha1.Channel{{Name: "C", Sampling: fast}, {Name: "D"}}}),
	}, nil, Archive{Shards: 4}, now)
	got := byPV(r)
	if got["A"].Settings != got["B"].Settings || got["A"].Settings != got["C"].Settings {
		t.Error("equal settings are not shared")
	}
	if got["A"].Settings == got["D"].Settings {
		t.Error("different settings are shared")
	}
}

func TestExpiredGroupsAreNotCaptured(t *testing.T) {
	until := func(d time.Duration) *metav1.Time { at := metav1.NewTime(now.Add(d)); return &at }
	r := Compile([]v1alpha1.ArchiveGroup{
		group("past", 0, v1alpha1.ArchiveGroupSpec{ExpiresAt: until(0), Channels: channels("A", "B")}),
		group("later", 1, v1alpha1.ArchiveGroupSpec{ExpiresAt: until(2 * time.Hour), Channels: channels("B")}),
		group("soon", 2, v1alpha1.ArchiveGroupSpec{ExpiresAt: until(time.Hour), Channels: channels("C")}),
	}, nil, Archive{Shards: 4}, now)
	got := byPV(r)
	if _, captured := got["A"]; captured || len(got) != 2 {
		t.Errorf("captured: %v", got)
	}
	if !r.Groups["ns/past"].Expired || r.Groups["ns/later"].Expired {
		t.Error("the wrong groups are expired")
	}
	if n := len(r.Groups["ns/later"].Conflicts); n != 0 {
		t.Errorf("%d conflicts with an expired group", n)
	}
	if want := now.Add(time.Hour); !r.NextExpiry.Equal(want) {
		t.Errorf("next expiry at %v, want %v", r.NextExpiry, want)
	}
}

func TestPausedChannelsAreCounted(t *testing.T) {
	no := false
	r := Compile([]v1alpha1.ArchiveGroup{group("a", 0, v1alpha1.ArchiveGroupSpec{
		Paused:   true,
		Channels: []v1alpha1.Channel{{Name: "A"}, {Name: "B", Paused: &no}},
	})}, nil, Archive{Shards: 4}, now)
	got := byPV(r)
	if !got["A"].Settings.Paused || got["B"].Settings.Paused {
		t.Errorf("paused: A %v, B %v", got["A"].Settings.Paused, got["B"].Settings.Paused)
	}
	if g := r.Groups["ns/a"]; g.Channels != 2 || g.Paused != 1 {
		t.Errorf("counted %d channels, %d paused", g.Channels, g.Paused)
	}
}

func TestProblemsDoNotHideTheRest(t *testing.T) {
	wrong := v1alpha1.Duration("soon")
	r := Compile([]v1alpha1.ArchiveGroup{group("a", 0, v1alpha1.ArchiveGroupSpec{
		ShardBy: &v1alpha1.ShardBy{Prefix: &v1alpha1.ShardByPrefix{Regex: "("}},
		Channels: []v1alpha1.Channel{
			{Name: "SR X"},
			{Name: "SR:Y"},
			{Name: "SR:Y.VAL"},
			{Name: ".VAL"},
			{Name: "SR:Z", Sampling: &v1alpha1.Sampling{Mode: v1alpha1.Scan, Period: &wrong}},
			{Name: "SR:OK"},
		},
	})}, nil, Archive{Shards: 4}, now)
	want := []Problem{
		{"", "parsing shardBy.prefix.regex: error parsing regexp: missing closing ): `(`"},
		{"", "the name is empty"},
		{"SR X", "the name has a space or control character at byte 2"},
		{"SR:Y", `"SR:Y" and "SR:Y.VAL" are the same PV; the first entry is used`},
		{"SR:Z", `parsing the period: "soon" is not a duration such as 500ms, 10s, 90d or 2y`},
	}
	if diff := cmp.Diff(want, r.Groups["ns/a"].Problems); diff != "" {
		t.Error(diff)
	}
	if got := byPV(r); len(got) != 2 || got["SR:Y"].PV == "" || got["SR:OK"].PV == "" {
		t.Errorf("captured: %v", got)
	}
}
