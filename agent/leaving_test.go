package agent

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/agent/handover"
	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine"
)

// holding returns a shard that captures lists, each given as "name: PV PV". A name that
// begins with "-" is a leaving list.
func holding(texts ...string) *shard {
	s := &shard{}
	for i, text := range texts {
		name, _, _ := strings.Cut(text, ":")
		name, leaving := strings.CutPrefix(name, "-")
		s.spec.Lists = append(s.spec.Lists, v1alpha1.ChannelListReference{Name: name, Leaving: leaving})
		texts[i] = strings.TrimPrefix(text, "-")
	}
	s.updateLists(progress{lists: listsOf(texts...)})
	return s
}

// captured returns the PVs that an engine captures of each shard, each as PV@list.
func captured(held map[int]*shard) map[int]string {
	a := &Agent{shards: held}
	for _, s := range held {
		s.decision.Hold = true
	}
	next, _ := a.assignmentLocked()
	out := map[int]string{}
	for i, s := range next {
		var pvs []string
		for _, ch := range s.Channels {
			pvs = append(pvs, ch.PV+"@"+ch.Group)
		}
		slices.Sort(pvs)
		out[i] = strings.Join(pvs, " ")
		if held[i].channels != len(pvs) {
			panic("BUG: the shard waits for channels that it does not have")
		}
	}
	return out
}

// TestALeavingPVStaysUntilItsNewShardIsHere checks that a PV that leaves a shard stays there
// until the engine captures it for its new shard.
func TestALeavingPVStaysUntilItsNewShardIsHere(t *testing.T) {
	for name, tc := range map[string]struct {
		held map[int]*shard
		want map[int]string
	}{
		"the other shard is elsewhere": {
			map[int]*shard{3: holding("own: A", "-left: B C"), 5: holding("more: D")},
			map[int]string{3: "A@own B@left C@left", 5: "D@more"},
		},
		"the other shard is here": {
			map[int]*shard{3: holding("own: A", "-left: B C"), 5: holding("new: B D")},
			map[int]string{3: "A@own C@left", 5: "B@new D@new"},
		},
		"the other shard has a lower index": {
			map[int]*shard{3: holding("own: A", "-left: B"), 1: holding("new: B")},
			map[int]string{3: "A@own", 1: "B@new"},
		},
		"a PV leaves two shards": {
			map[int]*shard{3: holding("-one: B"), 5: holding("-two: B")},
			map[int]string{3: "B@one", 5: ""},
		},
		"two shards exchange PVs": {
			map[int]*shard{3: holding("a: A", "-b: B"), 5: holding("c: B", "-d: A")},
			map[int]string{3: "A@a", 5: "B@c"},
		},
		"the whole list leaves unchanged": {
			map[int]*shard{3: holding("-list: A B"), 5: holding("list: A B")},
			map[int]string{3: "", 5: "A@list B@list"},
		},
		"nothing leaves": {
			map[int]*shard{3: holding("a: A", "b: B"), 5: holding("c: C")},
			map[int]string{3: "A@a B@b", 5: "C@c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := captured(tc.held)
			for i, want := range tc.want {
				if got[i] != want {
					t.Errorf("the engine captures %[2]q of shard %[1]d, want %[3]q", i, got[i], want)
				}
			}
		})
	}
}

// TestMarkingAListAsLeavingChangesTheAssignment checks that marking a list as leaving changes
// the assignment, because the PVs of the list go to their new shard.
func TestMarkingAListAsLeavingChangesTheAssignment(t *testing.T) {
	s := holding("list: A")
	s.spec.Lists[0].Leaving = true
	if !s.updateLists(progress{lists: s.captured}) {
		t.Error("marking the list as leaving is no change")
	}
	if s.updateLists(progress{lists: s.captured}) {
		t.Error("the same lists count as a change")
	}
}

// TestRemovalsAreMarkedOnlyIfEveryGenerationWasSeen checks when an agent may conclude that a PV which
// vanishes from the lists of a shard is in no group any more.
func TestRemovalsAreMarkedOnlyIfEveryGenerationWasSeen(t *testing.T) {
	type step struct {
		generation int64
		lists      string // the ArchiveShard's lists; "-" marks a leaving one
		removes    bool
	}
	for name, steps := range map[string][]step{
		"removed":                       {{5, "a: A B", false}, {6, "b: A", true}, {7, "b: A", false}},
		"other orders in between":       {{5, "a: A B", false}, {6, "a: A B", false}, {7, "b: A", true}},
		"a generation was missed":       {{5, "a: A B", false}, {7, "b: A", false}},
		"left to another shard":         {{5, "a: A B", false}, {6, "b: A|-left: B", false}, {7, "b: A", false}},
		"restored without a generation": {{0, "a: A B", false}, {6, "b: A", false}},
	} {
		s, seen := &shard{}, lists{}
		for i, st := range steps {
			obj := &v1alpha1.ArchiveShard{}
			obj.Generation = st.generation
			read := lists{}
			for text := range strings.SplitSeq(st.lists, "|") {
				name, _, _ := strings.Cut(text, ":")
				name, leaving := strings.CutPrefix(name, "-")
				obj.Spec.Lists = append(obj.Spec.Lists, v1alpha1.ChannelListReference{Name: name, Leaving: leaving})
				if seen[name] == nil { // a list never changes
					seen[name] = listsOf(strings.TrimPrefix(text, "-"))[name]
				}
				read[name] = seen[name]
			}
			s.update(obj, handover.Present)
			s.updateLists(progress{lists: read})
			if s.removes != st.removes {
				t.Errorf("%s, step %d: removals are marked: %v", name, i, s.removes)
			}
		}
	}
}

// TestTheEngineKnowsWhichPVsLeft checks that the engine gets the PVs that leave a shard, and those that
// left it recently, as soon as their lists have been read.
func TestTheEngineKnowsWhichPVsLeft(t *testing.T) {
	s := holding("own: A", "-left: B C")
	at := metav1.NewTime(time.Unix(1000, 0))
	s.spec.Former = []v1alpha1.FormerChannelList{{Name: "old", Left: &at, Needed: &at}, {Name: "unread", Left: &at, Needed: &at}}
	known := listsOf("old: D E")
	read := func(name string) *list { return known[name] }
	if !s.updateFormer(read) || s.updateFormer(read) {
		t.Error("only the first read of a former list changes the assignment")
	}
	want := []engine.Left{{PVs: []string{"B", "C"}}, {PVs: []string{"D", "E"}, At: at.UnixNano()}, {Unknown: true, At: at.UnixNano()}}
	if diff := cmp.Diff(want, s.left()); diff != "" {
		t.Error(diff)
	}
	later := metav1.NewTime(time.Unix(2000, 0))
	s.spec.Former[0].Left = &later
	if !s.updateFormer(read) || s.left()[1].At != later.UnixNano() {
		t.Error("a list that came back and left again has its old time")
	}
	s.spec.Former = nil
	if !s.updateFormer(read) || len(s.left()) != 1 {
		t.Errorf("when the lists are gone, the engine gets %v", s.left())
	}
}
