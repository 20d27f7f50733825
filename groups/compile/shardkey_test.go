package compile

import (
	"testing"

	"varve.dev/varve/api/v1alpha1"
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
