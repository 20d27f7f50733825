package shards

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/channellist"
)

// wantFormer compares the PVs in the former lists of shard 0.
func (w *leavingWorld) wantFormer(when string, want ...string) {
	w.Helper()
	var got []string
	for _, f := range w.in.shards[0].Spec.Former {
		channels, err := channellist.Decode(w.in.lists[f.Name].BinaryData[v1alpha1.ChannelListKey])
		if err != nil {
			w.Fatal(err)
		}
		for _, ch := range channels {
			got = append(got, ch.PV)
		}
	}
	if !slices.Equal(got, want) {
		w.Fatalf("%s: the former PVs of shard 0 are %v, want %v", when, got, want)
	}
}

// released returns a world where PV A has just moved from shard 0 to shard 1.
func released(t *testing.T) *leavingWorld {
	w := moving(t)
	w.answer(0, 1)
	w.reconcile()
	w.pass(handoverWait - time.Second)
	w.wantFormer("while the PV is leaving")
	w.pass(time.Second)
	w.want("when it has left", after)
	w.wantFormer("in the write with which it leaves", "A")
	return w
}

// TestAListThatLeftStaysAsAFormerList checks how long an ArchiveShard names the PVs that it captured
// until recently: until their samples are in blocks, also if the operator restarts meanwhile.
func TestAListThatLeftStaysAsAFormerList(t *testing.T) {
	w := released(t)
	left := w.in.shards[0].Spec.Former[0].Left.Time
	if d := w.now.Sub(left); d < 0 || d >= time.Second {
		t.Errorf("the list says that it left %v ago", d)
	}
	w.restart(after)
	w.wantFormer("after a restart of the operator", "A")
	w.pass(formerFor - time.Second)
	w.wantFormer("before its time is over", "A")
	w.pass(time.Second)
	w.wantFormer("when its time is over")
}

// TestAFormerListStaysWhileSamplesWait checks that a former list stays while an engine of the shard
// holds samples that the store has not accepted, and for formerFor after that.
func TestAFormerListStaysWhileSamplesWait(t *testing.T) {
	w := released(t)
	left := w.in.shards[0].Spec.Former[0].Left.Time
	w.in.shards[0].Status.Engines[0].WaitingSince = &metav1.Time{Time: w.now}
	writes, needed := 0, left
	for range 3 * 180 { // three hours
		w.pass(20 * time.Second)
		if now := w.in.shards[0].Spec.Former[0].Needed.Time; !now.Equal(needed) {
			writes, needed = writes+1, now
		}
	}
	w.wantFormer("while samples wait", "A")
	if writes > 180 {
		t.Errorf("the shard was written %d times in 180 minutes", writes)
	}
	w.in.shards[0].Status.Engines[0].WaitingSince = nil
	w.pass(formerFor - 2*time.Minute)
	w.wantFormer("soon after the samples are stored", "A")
	if at := w.in.shards[0].Spec.Former[0].Left.Time; !at.Equal(left) {
		t.Errorf("the time at which the list left changed by %v", at.Sub(left))
	}
	w.pass(2 * time.Minute)
	w.wantFormer("long after they are stored")
}

// TestAPVStaysInItsOldShardWhileThereIsNoRoomForFormerLists checks that no former list is dropped too
// early because there are too many of them.
func TestAPVStaysInItsOldShardWhileThereIsNoRoomForFormerLists(t *testing.T) {
	w := moving(t)
	w.answer(0, 1)
	at := metav1.NewTime(w.now)
	for i := range maxFormer {
		w.in.shards[0].Spec.Former = append(w.in.shards[0].Spec.Former, v1alpha1.FormerChannelList{Name: fmt.Sprint("list-", i), Left: &at, Needed: &at})
	}
	w.reconcile()
	w.pass(handoverWait)
	w.want("there is no room", during)
	w.pass(formerFor)
	w.pass(time.Second)
	w.want("there is room again", after)
	w.wantFormer("there is room again", "A")
}
