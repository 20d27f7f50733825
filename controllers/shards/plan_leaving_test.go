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

// leavingWorld is a simulated archive. Its cache has every write of the operator at once, and
// its engines answer only when a test calls answer.
type leavingWorld struct {
	*testing.T
	in       *observed
	known    *memory
	compiled *compilation
	now      time.Time
}

// newLeavingWorld returns a world with shards 0 to 3 of an Archiver with spec.shards = 2.
// The engine of shard i has the name "e" plus i.
func newLeavingWorld(t *testing.T) *leavingWorld {
	a := &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Name: "main"}}
	a.Spec.Shards = 2
	w := &leavingWorld{T: t, now: time.Now(), known: &memory{}, in: &observed{
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

// compile assigns PVs to shards and writes the shards.
func (w *leavingWorld) compile(assignment map[int][]string) {
	settings := &capture.Settings{}
	result := compile.Result{Assignment: map[int][]capture.Channel{}}
	for i, pvs := range assignment {
		for _, pv := range slices.Sorted(slices.Values(pvs)) {
			result.Assignment[i] = append(result.Assignment[i], capture.Channel{PV: pv, Settings: settings})
		}
	}
	w.compiled = encode(w.in, &result, nil)
	for name, data := range w.compiled.data {
		w.in.lists[name] = &corev1.ConfigMap{BinaryData: map[string][]byte{v1alpha1.ChannelListKey: data}}
	}
	w.reconcile()
}

// reconcile writes all shards, or only the given ones. It does not give orders to engines.
func (w *leavingWorld) reconcile(only ...int) (wait time.Duration) {
	wait = w.known.releaseLeaving(w.in, w.compiled, w.now)
	w.in.updateFormer(w.compiled, w.now)
	for i := range w.compiled.shards {
		if len(only) == 0 || slices.Contains(only, i) {
			w.in.shards[i].Spec.Lists = w.compiled.shards[i].references()
			w.in.shards[i].Spec.Former = w.compiled.shards[i].former
		}
	}
	return wait
}

// answer makes the engines of the given shards capture the current lists of these shards.
func (w *leavingWorld) answer(shards ...int) {
	for _, i := range shards {
		answer := v1alpha1.ShardEngineStatus{Name: fmt.Sprint("e", i), Phase: v1alpha1.Capturing}
		for _, ref := range w.in.shards[i].Spec.Lists {
			answer.Lists = append(answer.Lists, ref.Name)
		}
		w.in.shards[i].Status = &v1alpha1.ArchiveShardStatus{Engines: []v1alpha1.ShardEngineStatus{answer}}
	}
}

// pass advances the time and reconciles.
func (w *leavingWorld) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.reconcile()
}

// restart replaces the operator by a new one that makes the same compilation.
func (w *leavingWorld) restart(assignment map[int][]string) {
	w.known = &memory{}
	w.compile(assignment)
}

// want compares the PVs of each shard. "-PV" is a leaving one.
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

// moving returns a world where PV A moves from shard 0 to shard 1.
func moving(t *testing.T) *leavingWorld {
	w := newLeavingWorld(t)
	w.compile(before)
	w.answer(0, 1)
	w.want("before", before)
	w.compile(after)
	w.want("at once", during)
	return w
}

func TestPVStaysInItsOldShardUntilTheNewOneIsReady(t *testing.T) {
	w := moving(t)
	w.pass(time.Hour)
	w.want("no engine has answered", during)
	w.answer(0, 1)
	if wait := w.reconcile(); wait != handoverWait {
		t.Errorf("reconcile requests another run in %v, want %v", wait, handoverWait)
	}
	w.pass(handoverWait - time.Millisecond)
	w.want("the new shard is ready, but not for long enough", during)
	w.pass(time.Millisecond)
	w.want("the new shard has been ready for long enough", after)
	if wait := w.reconcile(); wait != 0 {
		t.Errorf("reconcile requests another run in %v, want no further run", wait)
	}
}

func TestRestartedOperatorWaitsAgain(t *testing.T) {
	w := moving(t)
	w.answer(0, 1)
	w.pass(handoverWait - time.Second)
	w.restart(after)
	w.want("after a restart", during)
	w.pass(handoverWait - time.Second)
	w.want("the restarted operator waits again", during)
	w.pass(time.Second)
	w.want("the new shard has been ready for long enough", after)

	for i := range 2 { // the operator restarts after one of two writes
		w := newLeavingWorld(t)
		w.compile(before)
		w.answer(0, 1)
		old := w.in.shards[1-i].Spec.Lists
		w.compile(after)
		w.in.shards[1-i].Spec.Lists = old
		w.restart(after)
		w.want("after a restart between two writes", during)
	}
}

func TestShardWithADeadEngineIsNotReady(t *testing.T) {
	w := moving(t)
	w.answer(0, 1)
	w.pass(handoverWait - time.Second)
	w.in.engines[1].Dead = true
	w.pass(handoverWait)
	w.want("the new engine is dead", during)
	w.in.engines[1].Dead = false
	w.reconcile()
	w.pass(handoverWait - time.Second)
	w.want("the new engine is alive again", during)

	// A second engine joins the new shard. Both must capture it.
	s := w.in.shards[1]
	s.Spec.Engines = append(s.Spec.Engines, v1alpha1.ShardEngine{Name: "e2", Order: v1alpha1.OrderCapture})
	w.pass(handoverWait)
	w.want("one of two engines captures it", during)
	s.Status.Engines = append(s.Status.Engines, v1alpha1.ShardEngineStatus{Name: "e2", Phase: v1alpha1.Joining, Lists: s.Status.Engines[0].Lists})
	w.pass(handoverWait)
	w.want("the second engine is joining", during)
	s.Status.Engines[1].Phase = v1alpha1.Capturing
	w.reconcile()
	w.pass(handoverWait)
	w.want("both engines capture it", after)
}

func TestEditsWhileAPVIsLeaving(t *testing.T) {
	w := moving(t)
	w.compile(before)
	w.want("the edit is undone", map[int][]string{0: {"A", "B"}, 1: {"-A", "C"}})
	w.answer(0, 1)
	w.reconcile()
	w.pass(handoverWait)
	w.want("the PV is back", before)

	w = moving(t)
	w.compile(map[int][]string{0: {"B"}, 1: {"C"}, 3: {"A"}})
	w.want("the PV moves on to a third shard", map[int][]string{0: {"-A", "B"}, 1: {"-A", "C"}, 3: {"A"}})
	w.answer(0, 1)
	w.pass(handoverWait)
	w.want("the third shard is not ready", map[int][]string{0: {"-A", "B"}, 1: {"-A", "C"}, 3: {"A"}})
	w.answer(3)
	w.reconcile()
	w.pass(handoverWait)
	w.want("the third shard is ready", map[int][]string{0: {"B"}, 1: {"C"}, 3: {"A"}})

	w = moving(t)
	w.compile(map[int][]string{0: {"B"}, 1: {"A", "C", "D"}})
	w.want("the new shard gets another PV", map[int][]string{0: {"-A", "B"}, 1: {"A", "C", "D"}})
	w.compile(map[int][]string{0: {"B"}, 1: {"C", "D"}})
	w.want("no group has the PV", map[int][]string{0: {"B"}, 1: {"C", "D"}})
}

// A shard whose lists cannot be read does not change, and is never ready.
func TestShardWithAnUnreadableListIsNotReady(t *testing.T) {
	w := newLeavingWorld(t)
	w.compile(before)
	w.answer(0, 1)
	settings := &capture.Settings{}
	w.compiled = encode(w.in, &compile.Result{Assignment: map[int][]capture.Channel{
		0: {{PV: "B", Settings: settings}}, 1: {{PV: "A", Settings: settings}},
	}}, map[int]bool{1: true})
	for name, data := range w.compiled.data {
		w.in.lists[name] = &corev1.ConfigMap{BinaryData: map[string][]byte{v1alpha1.ChannelListKey: data}}
	}
	w.reconcile()
	w.pass(handoverWait)
	w.want("the unreadable shard was not written", map[int][]string{0: {"-A", "B"}, 1: {"C"}})
}

// A compilation reads the lists that it replaces, and no others.
func TestCompilationReadsOnlyListsThatChange(t *testing.T) {
	w := newLeavingWorld(t)
	w.compile(before)
	for i, ref := range w.in.shards[1].Spec.Lists {
		if w.in.lists[ref.Name].BinaryData = nil; i > 0 {
			t.Fatal("shard 1 has more than one list")
		}
	}
	w.compile(map[int][]string{0: {"A", "B", "NEW"}, 1: {"C"}})
	if len(w.compiled.shards[0].leaving)+len(w.compiled.shards[1].leaving) > 0 {
		t.Error("the compilation has leaving PVs although their lists cannot be read")
	}
}
