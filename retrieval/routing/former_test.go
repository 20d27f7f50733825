package routing

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

func TestFormerListsAreRememberedUntilTheirSamplesAreInBlocks(t *testing.T) {
	type shards = map[string]*v1alpha1.ArchiveShard
	lists := map[string]*pvSet{"old": pvSetOf(t, "A", "B"), "rest": pvSetOf(t, "B"), "new": pvSetOf(t, "A")}
	get := func(name string) (*pvSet, bool) { n, ok := lists[name]; return n, ok }
	read := func(name string) bool { return lists[name] != nil }
	var f former
	begin := time.Now()
	at := func(after time.Duration, s shards) *table {
		f.observe(s, read, begin.Add(after))
		a := buildTable(s, nil, get)
		a.addFormer(&f, get)
		return a
	}
	want := func(when string, a *table, pv string, want ...int) {
		t.Helper()
		if got := a.formerShards(pv); !slices.Equal(got, want) {
			t.Errorf("%s: %s was in %v, want %v", when, pv, got, want)
		}
	}
	before := shards{"s1": shardOf(1, "old unread"), "s2": shardOf(2, "")}
	after := shards{"s1": shardOf(1, "rest"), "s2": shardOf(2, "new")}
	want("initially", at(0, before), "A")
	a := at(time.Second, after)
	want("after the move", a, "A", 1)
	want("another PV", a, "X")
	if len(f.had[1]) != 1 {
		t.Errorf("%v is remembered; a list that was not read must not be", f.had)
	}
	want("after formerFor", at(formerFor, after), "A", 1)
	waiting := shardOf(1, "rest", "e1 Draining")
	waiting.Status.Engines[0].WaitingSince = &metav1.Time{}
	want("while an engine holds unstored samples", at(2*formerFor, shards{"s1": waiting, "s2": after["s2"]}), "A", 1)
	want("just before formerFor has passed since then", at(3*formerFor-time.Second, after), "A", 1)
	want("when formerFor has passed since then", at(3*formerFor, after), "A")

	begin = begin.Add(2 * formerFor)
	at(formerFor+time.Minute, shards{"s1": after["s1"]})
	want("after its shard was deleted", at(formerFor+2*time.Minute, shards{"s1": after["s1"]}), "A", 2)
	want("after its shard exists again", at(formerFor+3*time.Minute, after), "A")
	if in, certain := at(0, after).find("A"); len(in) != 1 || !certain {
		t.Errorf("A is routed to shards %v", in)
	}
}
