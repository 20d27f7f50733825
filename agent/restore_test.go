package agent

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine"
)

// leftAt is when the PVs of former lists left their shard.
var leftAt = time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)

// restart returns a new agent of engine a that finds a state on disk, and its engine. The agent has no API server.
func restart(dir string) (*Agent, *fakeEngine) {
	e := &fakeEngine{}
	return New(Config{
		Name: "a", Namespace: "ns", Archiver: "main", Shards: 64, State: dir, Engine: e, Channels: e, Log: slog.New(slog.DiscardHandler),
	}), e
}

// TestFormerListsSurviveARestart checks that an engine that restarts without an API server knows which PVs left its
// shards, and that it keeps this knowledge through the next restart. It forgets the lists that nobody needs.
func TestFormerListsSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	a, _ := restart(dir)
	st, data := sampleState()
	saved := &st.Shards[0]
	former, formerData := newList("main", "GONE:1", "GONE:2")
	unread, _ := newList("main", "GONE:3")
	at := metav1.NewTime(leftAt)
	saved.Spec.Former = []v1alpha1.FormerChannelList{{Name: former, Left: &at, Needed: &at}, {Name: unread, Left: &at, Needed: &at}}
	data[former] = formerData
	for name, text := range data {
		l, err := decodeList(text)
		if err != nil {
			t.Fatal(err)
		}
		a.lists.Put(name, l)
	}
	s := a.restoreShard(saved)
	a.shards[s.index] = s
	s.updateFormer(a.readList)
	a.saveState()

	want := map[bool]int{true: 1, false: 1} // lists whose PVs are unknown, and known
	for restarts := range 2 {
		a, e := restart(dir)
		for _, step := range []string{"at first", "after a pass"} {
			got := map[bool]int{}
			for _, l := range e.applied[s.index].Left {
				got[l.Unknown]++
				if l.At != leftAt.UnixNano() || !l.Unknown && !cmp.Equal(l.PVs, []string{"GONE:1", "GONE:2"}) {
					t.Errorf("restart %d, %s: the engine gets %+v", restarts, step, l)
				}
			}
			if !cmp.Equal(got, want) {
				t.Errorf("restart %d, %s: the engine gets %+v", restarts, step, e.applied[s.index].Left)
			}
			a.reconcile(time.Now())
		}
		a.saveState()
	}

	a, _ = restart(dir)
	restored := a.shards[s.index]
	restored.spec.Former = nil
	restored.updateFormer(a.readList)
	a.saveState()
	if _, err := os.Stat(filepath.Join(dir, listsFolder, former)); !os.IsNotExist(err) {
		t.Errorf("the former list stays on disk: %v", err)
	}
}

// TestAStateOfAnEarlierVersion checks that a state that an earlier version wrote, without former lists, is still used: the
// engine captures, and knows that it does not know which PVs left.
func TestAStateOfAnEarlierVersion(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/state-1")); err != nil {
		t.Fatal(err)
	}
	_, e := restart(dir)
	if got := e.captured(); got != "A B" {
		t.Errorf("the engine captures %q, want A and B", got)
	}
	if diff := cmp.Diff([]engine.Left{{Unknown: true, At: leftAt.UnixNano()}}, e.applied[3].Left); diff != "" {
		t.Error(diff)
	}
}
