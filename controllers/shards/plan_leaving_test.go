package shards

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/groups/channellist"
	"varve.dev/varve/groups/compile"
)

// leavingWorld is what an operator sees, and what it writes is there at once. Engines
// answer when they are told to.
type leavingWorld struct {
	*testing.T
	in    *observed
	known *archive
	made  *compiled
	now   time.Time
}

// newLeavingWorld has two shards, 0 and 1, and as many again; the engine of a shard i is
// called e and its number.
func newLeavingWorld(t *testing.T) *leavingWorld {
	a := &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Name: "main"}}
	a.Spec.Shards = 2
	w := &leavingWorld{T: t, now: time.Now(), known: &archive{}, in: &observed{
		archiver: a, shards: map[int]*v1alpha1.ArchiveShard{}, lists: map[string]*corev1.ConfigMap{},
	}}
	for i := range 4 {
		w.in.engines = append(w.in.engines, fleet.Engine{Name: fmt.Sprint("e", i)})
		w.in.shards[i] = &v1alpha1.ArchiveShard{
			Spec: v1alpha1.ArchiveShardSpec{Engines: []v1alpha1.ShardEngine{{Name: fmt.Sprint("e", i), Order: v1alpha1.OrderCapture}}},
		}
	}
	return w
}

// compile makes shards have PVs, and writes them.
func (w *leavingWorld) compile(assignment map[int][]string) {
	settings := &capture.Settings{}
	result := compile.Result{Assignment: map[int][]capture.Channel{}}
	for i, pvs := range assignment {
		for _, pv := range slices.Sorted(slices.Values(pvs)) {
			result.Assignment[i] = append(result.Assignment[i], capture.Channel{PV: pv, Settings: settings})
		}
	}
	w.made = encode(w.in, &result, nil)
	for name, data := range w.made.data {
		w.in.lists[name] = &corev1.ConfigMap{BinaryData: map[string][]byte{v1alpha1.ChannelListKey: data}}
	}
	w.reconcile()
}

// reconcile writes what is to be written, but for orders.
func (w *leavingWorld) reconcile(only ...int) (wait time.Duration) {
	wait = w.known.release(w.in, w.made, w.now)
	for i := range w.made.shards {
		if len(only) == 0 || slices.Contains(only, i) {
			w.in.shards[i].Spec.Lists = w.made.shards[i].references()
		}
	}
	return wait
}

// answer lets an engine capture the lists that its shard has now.
func (w *leavingWorld) answer(shards ...int) {
	for _, i := range shards {
		answer := v1alpha1.ShardEngineStatus{Name: fmt.Sprint("e", i), Phase: v1alpha1.Capturing}
		for _, ref := range w.in.shards[i].Spec.Lists {
			answer.Lists = append(answer.Lists, ref.Name)
		}
		w.in.shards[i].Status = &v1alpha1.ArchiveShardStatus{Engines: []v1alpha1.ShardEngineStatus{answer}}
	}
}

// pass lets time pass.
func (w *leavingWorld) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.reconcile()
}

// restart starts another operator, which compiles the same.
func (w *leavingWorld) restart(assignment map[int][]string) {
	w.known = &archive{}
	w.compile(assignment)
}

// want compares the PVs of each shard; -PV: it is leaving.
func (w *leavingWorld) want(when string, want map[int][]string) {
	w.Helper()
	got := map[int][]string{}
	for i, s := range w.in.shards {
		for _, ref := range s.Spec.Lists {
			channels, err := channellist.Decode(w.in.lists[ref.Name].BinaryData[v1alpha1.ChannelListKey])
			if err != nil {
				w.Fatal(err)
			}
			for _, ch := range channels {
				if pv := ch.PV; ref.Leaving {
					got[i] = append(got[i], "-"+pv)
				} else {
					got[i] = append(got[i], pv)
				}
			}
		}
		slices.Sort(got[i])
	}
	maps.DeleteFunc(got, func(_ int, pvs []string) bool { return len(pvs) == 0 })
	if diff := cmp.Diff(want, got); diff != "" {
		w.Fatalf("%s: %s", when, diff)
	}
}

var (
	before = map[int][]string{0: {"A", "B"}, 1: {"C"}}
	after  = map[int][]string{0: {"B"}, 1: {"A", "C"}}
	during = map[int][]string{0: {"-A", "B"}, 1: {"A", "C"}}
)

// moving returns a world where A is on the way from shard 0 to shard 1.
func moving(t *testing.T) *leavingWorld {
	w := newLeavingWorld(t)
	w.compile(before)
	w.answer(0, 1)
	w.want("before", before)
	w.compile(after)
	w.want("at once", during)
	return w
}

func TestAPVStaysUntilItIsTaken(t *testing.T) {
	w := moving(t)
	w.pass(time.Hour)
	w.want("nobody has taken it", during)
	w.answer(0, 1)
	if wait := w.reconcile(); wait != takenFor {
		t.Errorf("the next look is in %v", wait)
	}
	w.pass(takenFor - time.Millisecond)
	w.want("it was taken a moment ago", during)
	w.pass(time.Millisecond)
	w.want("it is taken", after)
	if wait := w.reconcile(); wait != 0 {
		t.Errorf("there is another look in %v", wait)
	}
}

func TestAnOperatorThatIsStartedAgainWaitsAnew(t *testing.T) {
	w := moving(t)
	w.answer(0, 1)
	w.pass(takenFor - time.Second)
	w.restart(after)
	w.want("started again", during)
	w.pass(takenFor - time.Second)
	w.want("it waits anew", during)
	w.pass(time.Second)
	w.want("it is taken", after)

	for i := range 2 { // of two writes, one was made before it ended
		w := newLeavingWorld(t)
		w.compile(before)
		w.answer(0, 1)
		old := w.in.shards[1-i].Spec.Lists
		w.compile(after)
		w.in.shards[1-i].Spec.Lists = old
		w.restart(after)
		w.want("started again after half", during)
	}
}

func TestAnEngineThatDiesHasTakenNothing(t *testing.T) {
	w := moving(t)
	w.answer(0, 1)
	w.pass(takenFor - time.Second)
	w.in.engines[1].Dead = true
	w.pass(takenFor)
	w.want("who took it is dead", during)
	w.in.engines[1].Dead = false
	w.reconcile()
	w.pass(takenFor - time.Second)
	w.want("it is alive again", during)

	// Another engine joins, and both have to have it.
	s := w.in.shards[1]
	s.Spec.Engines = append(s.Spec.Engines, v1alpha1.ShardEngine{Name: "e2", Order: v1alpha1.OrderCapture})
	w.pass(takenFor)
	w.want("one of two has it", during)
	s.Status.Engines = append(s.Status.Engines, v1alpha1.ShardEngineStatus{Name: "e2", Phase: v1alpha1.Joining, Lists: s.Status.Engines[0].Lists})
	w.pass(takenFor)
	w.want("one joins", during)
	s.Status.Engines[1].Phase = v1alpha1.Capturing
	w.reconcile()
	w.pass(takenFor)
	w.want("both have it", after)
}

func TestEditsWhileAPVLeaves(t *testing.T) {
	w := moving(t)
	w.compile(before)
	w.want("back again", map[int][]string{0: {"A", "B"}, 1: {"-A", "C"}})
	w.answer(0, 1)
	w.reconcile()
	w.pass(takenFor)
	w.want("it is back", before)

	w = moving(t)
	w.compile(map[int][]string{0: {"B"}, 1: {"C"}, 3: {"A"}})
	w.want("on to a third", map[int][]string{0: {"-A", "B"}, 1: {"-A", "C"}, 3: {"A"}})
	w.answer(0, 1)
	w.pass(takenFor)
	w.want("the third has not taken it", map[int][]string{0: {"-A", "B"}, 1: {"-A", "C"}, 3: {"A"}})
	w.answer(3)
	w.reconcile()
	w.pass(takenFor)
	w.want("the third has it", map[int][]string{0: {"B"}, 1: {"C"}, 3: {"A"}})

	w = moving(t)
	w.compile(map[int][]string{0: {"B"}, 1: {"A", "C", "D"}})
	w.want("more comes", map[int][]string{0: {"-A", "B"}, 1: {"A", "C", "D"}})
	w.compile(map[int][]string{0: {"B"}, 1: {"C", "D"}})
	w.want("nobody wants it any more", map[int][]string{0: {"B"}, 1: {"C", "D"}})
}

// A shard whose lists can not be read is left as it is, and has taken nothing.
func TestAShardThatIsKeptHasTakenNothing(t *testing.T) {
	w := newLeavingWorld(t)
	w.compile(before)
	w.answer(0, 1)
	settings := &capture.Settings{}
	w.made = encode(w.in, &compile.Result{Assignment: map[int][]capture.Channel{
		0: {{PV: "B", Settings: settings}}, 1: {{PV: "A", Settings: settings}},
	}}, map[int]bool{1: true})
	for name, data := range w.made.data {
		w.in.lists[name] = &corev1.ConfigMap{BinaryData: map[string][]byte{v1alpha1.ChannelListKey: data}}
	}
	w.reconcile()
	w.pass(takenFor)
	w.want("the other one was not written", map[int][]string{0: {"-A", "B"}, 1: {"C"}})
}

// An edit reads the lists that it changes, and no others.
func TestAnEditReadsItsListsOnly(t *testing.T) {
	w := newLeavingWorld(t)
	w.compile(before)
	for i, ref := range w.in.shards[1].Spec.Lists {
		if w.in.lists[ref.Name].BinaryData = nil; i > 0 {
			t.Fatal("there is more than one list")
		}
	}
	w.compile(map[int][]string{0: {"A", "B", "NEW"}, 1: {"C"}})
	if len(w.made.shards[0].leaving)+len(w.made.shards[1].leaving) > 0 {
		t.Error("something is leaving")
	}
}
