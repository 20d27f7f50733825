package compile

import (
	"strings"
	"testing"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/pvname"
)

func TestShardKeys(t *testing.T) {
	prefix := func(regex string) *v1alpha1.ShardBy {
		return &v1alpha1.ShardBy{Prefix: &v1alpha1.ShardByPrefix{Regex: regex}}
	}
	for _, tc := range []struct {
		name string
		by   *v1alpha1.ShardBy
		want string
	}{
		{"default", nil, "SR01-VA:PRES-01"},
		{"channel", &v1alpha1.ShardBy{Channel: &v1alpha1.ShardByChannel{}}, "SR01-VA:PRES-01"},
		{"group", &v1alpha1.ShardBy{Group: &v1alpha1.ShardByGroup{}}, "ns/vacuum"},
		{"prefix, whole match", prefix("^[^:]+"), "SR01-VA"},
		{"prefix, capture group", prefix("^([A-Z]+)[0-9]+-([A-Z]+)"), "SR"},
		{"prefix, no match", prefix("^LINAC"), "SR01-VA:PRES-01"},
		{"prefix, empty match", prefix("^X*"), "SR01-VA:PRES-01"},
		{"prefix, unmatched capture group", prefix("^(LI)?SR"), "SR01-VA:PRES-01"},
	} {
		key, err := shardKey(tc.by, "ns/vacuum")
		if err != nil {
			t.Fatal(err)
		}
		if got := key("SR01-VA:PRES-01"); got != tc.want {
			t.Errorf("%s: the key is %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestACostlyShardKeyIsRefused makes sure that a group cannot make the operator search for minutes.
func TestACostlyShardKeyIsRefused(t *testing.T) {
	spec := v1alpha1.ArchiveGroupSpec{ShardBy: &v1alpha1.ShardBy{Prefix: &v1alpha1.ShardByPrefix{Regex: "(.{0,300}A){3}"}}, Channels: channels("X")}
	r := Compile([]v1alpha1.ArchiveGroup{group("a", 0, spec)}, nil, Archive{Shards: 8}, now)
	if p := r.Groups["ns/a"].Problems; len(p) != 1 || !strings.Contains(p[0].Message, "shardBy.prefix.regex: the expression has about") {
		t.Errorf("problems are %v", p)
	}
	if len(r.Assignment[pvname.Shard("X", 8)]) != 1 {
		t.Error("the PV is not in the shard of its name")
	}
	if n := MatchSteps(&spec); n != maxProgram {
		t.Errorf("%d steps are counted", n)
	}
}
