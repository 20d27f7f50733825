package routing

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

func TestFormer(t *testing.T) {
	type shards = map[string]*v1alpha1.ArchiveShard
	lists := map[string]*names{"old": namesOf(t, "A", "B"), "rest": namesOf(t, "B"), "new": namesOf(t, "A")}
	get := func(name string) (*names, bool) { n, ok := lists[name]; return n, ok }
	read := func(name string) bool { return lists[name] != nil }
	var f former
	begin := time.Now()
	at := func(after time.Duration, s shards) *atlas {
		f.see(s, read, begin.Add(after))
		a := draw(s, nil, get)
		a.remember(&f, get)
		return a
	}
	want := func(when string, a *atlas, pv string, want ...int) {
		t.Helper()
		if got := a.formerly(pv); !slices.Equal(got, want) {
			t.Errorf("%s: %s was in %v, want %v", when, pv, got, want)
		}
	}
	before := shards{"s1": shardOf(1, "old unread"), "s2": shardOf(2, "")}
	after := shards{"s1": shardOf(1, "rest"), "s2": shardOf(2, "new")}
	want("at first", at(0, before), "A")
	a := at(time.Second, after)
	want("it has moved", a, "A", 1)
	want("of another PV", a, "X")
	if len(f.had[1]) != 1 {
		t.Errorf("remembered are %v: a list that was not read is none of them", f.had)
	}
	want("later", at(formerFor, after), "A", 1)
	waiting := shardOf(1, "rest", "e1 Draining")
	waiting.Status.Engines[0].WaitingSince = &metav1.Time{}
	want("while samples wait", at(2*formerFor, shards{"s1": waiting, "s2": after["s2"]}), "A", 1)
	want("when none do", at(3*formerFor-time.Second, after), "A", 1)
	want("long after", at(3*formerFor, after), "A")

	begin = begin.Add(2 * formerFor)
	at(formerFor+time.Minute, shards{"s1": after["s1"]})
	want("the shard is gone", at(formerFor+2*time.Minute, shards{"s1": after["s1"]}), "A", 2)
	want("it is there again", at(formerFor+3*time.Minute, after), "A")
	if in, certain := at(0, after).find("A"); len(in) != 1 || !certain {
		t.Errorf("it is found in %v", in)
	}
}
