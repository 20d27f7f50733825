package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/agent/handover"
	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine"
)

// TestErasureState checks what an engine reports after an attempt to delete samples of two PVs.
func TestErasureState(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for name, tc := range map[string]struct {
		out  engine.Erased
		err  error
		want string // state, removed PVs, message
		next time.Duration
	}{
		"hidden":                 {engine.Erased{Hidden: 2, New: 2}, nil, "Hidden 0: ", eraseEvery},
		"one is removed":         {engine.Erased{Hidden: 2, Removed: 1}, nil, "Hidden 1: ", eraseEvery},
		"done":                   {engine.Erased{Hidden: 2, Removed: 2}, nil, "Done 2: ", -1},
		"a PV is unknown":        {engine.Erased{Hidden: 1, Removed: 1, Unknown: 1, FirstUnknown: "X"}, nil, "Waiting 1: the archive does not know X: correct the names", eraseEvery},
		"both are unknown":       {engine.Erased{Unknown: 2, FirstUnknown: "X"}, nil, "Waiting 0: the archive does not know X and 1 other PVs", eraseEvery},
		"not finalized":          {engine.Erased{}, fmt.Errorf("level 5: %w", engine.ErrNotFinalized), "Waiting 0: level 5: samples can be deleted only in an archive of format level 6", eraseRetry},
		"the store fails":        {engine.Erased{Hidden: 1}, errBroken, "Waiting 0: the store is unreachable", eraseRetry},
		"the removal fails":      {engine.Erased{Hidden: 2}, errBroken, "Hidden 0: the store is unreachable", eraseRetry},
		"another engine leads":   {engine.Erased{Hidden: 2}, fmt.Errorf("shard 7: %w", engine.ErrNotSealing), "Hidden 0: ", eraseRetry},
		"another, before it did": {engine.Erased{}, engine.ErrNotSealing, "Waiting 0: ", eraseRetry},
	} {
		got := erasureState("x", 2, &tc.out, tc.err, now)
		text := fmt.Sprintf("%s %d: %s", got.status.State, got.status.Removed, got.status.Message)
		if !strings.HasPrefix(text, tc.want) || strings.HasSuffix(tc.want, ": ") && text != tc.want {
			t.Errorf("%s: %q, want %q", name, text, tc.want)
		}
		if after := got.next.Sub(now); after != tc.next && (tc.next >= 0 || !got.next.IsZero()) {
			t.Errorf("%s: tried again after %v, want %v", name, after, tc.next)
		}
	}
}

// TestDeletedSamplesStayDeleted checks that a failure does not change the reported state of a deletion back, also after a
// restart.
func TestDeletedSamplesStayDeleted(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	s := &shard{spec: v1alpha1.ArchiveShardSpec{Erasures: []v1alpha1.ShardErasure{{Name: "x"}}}}
	state := func(out engine.Erased, err error) string {
		at = at.Add(time.Minute)
		s.noteErasure("a", erasureState("x", 2, &out, err, at), at)
		st := s.erasureStatuses("a")[0]
		return fmt.Sprintf("%s %d since %d: %s", st.State, st.Removed, st.Since.Sub(time.Unix(1_700_000_000, 0))/time.Minute, st.Message)
	}
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	expect("a failure", state(engine.Erased{}, errBroken), "Waiting 0 since 1: the store is unreachable")
	expect("hidden", state(engine.Erased{Hidden: 2, Removed: 1}, nil), "Hidden 1 since 2: ")
	expect("a later failure", state(engine.Erased{}, errBroken), "Hidden 1 since 2: the store is unreachable")
	s.object = &v1alpha1.ArchiveShard{Status: &v1alpha1.ArchiveShardStatus{Engines: []v1alpha1.ShardEngineStatus{{Name: "a", Erasures: s.erasureStatuses("a")}}}}
	s.erasing = nil
	expect("a failure after a restart", state(engine.Erased{}, errBroken), "Hidden 1 since 2: the store is unreachable")
	expect("done", state(engine.Erased{Hidden: 2, Removed: 2}, nil), "Done 2 since 5: ")
	expect("an older backup was restored", state(engine.Erased{Hidden: 2, New: 2}, nil), "Hidden 0 since 6: ")
	s.spec.Erasures = nil
	if s.dropErasures(); len(s.erasing) > 0 || len(s.erasureStatuses("a")) > 0 {
		t.Error("a deletion that is no longer ordered is still reported")
	}
}

// TestOnlyASealerThatCapturesAllDeletes checks when an engine carries out a deletion of samples.
func TestOnlyASealerThatCapturesAllDeletes(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for name, tc := range map[string]struct {
		change func(*shard)
		due    bool
	}{
		"it seals":                     {func(*shard) {}, true},
		"it follows":                   {func(s *shard) { s.sealing = false }, false},
		"the API server does not know": {func(s *shard) { s.presence = handover.Missing }, false},
		"only the state on disk":       {func(s *shard) { s.object = nil }, false},
		"it has released the shard":    {func(s *shard) { s.decision.Hold = false }, false},
		"a list is new":                {func(s *shard) { s.wanted = listsOf("new: A", "newer: B") }, false},
		"a list cannot be read":        {func(s *shard) { s.broken = map[string]string{"newer": "it is damaged"} }, false},
		"it waits":                     {func(s *shard) { s.erasing = map[string]*erasing{"x": {next: now.Add(1)}} }, false},
		"it has waited":                {func(s *shard) { s.erasing = map[string]*erasing{"x": {next: now}} }, true},
		"it is done":                   {func(s *shard) { s.erasing = map[string]*erasing{"x": {}} }, false},
		"another engine led since then": {func(s *shard) {
			s.erasing = map[string]*erasing{"x": {}}
			s.sealing = false
			s.dueErasures(now)
			s.sealing = true
		}, true},
	} {
		s := &shard{
			applied: true, listsTried: true, sealing: true, decision: handover.Decision{Hold: true}, wanted: listsOf("new: A"),
			object: &v1alpha1.ArchiveShard{}, presence: handover.Present,
			spec: v1alpha1.ArchiveShardSpec{Erasures: []v1alpha1.ShardErasure{{Name: "x"}}},
		}
		s.captured = s.wanted
		tc.change(s)
		if due := s.dueErasures(now); len(due) > 0 != tc.due {
			t.Errorf("%s: due %v", name, due)
		}
	}
}

// TestAnAgentDeletesSamples gives the order to delete samples, and follows its state in the API server, over a restart of the
// process.
func TestAnAgentDeletesSamples(t *testing.T) {
	w := newWorld(t)
	all, some, gone := w.list("A", "B"), w.list("A"), w.list("GONE")
	var orders []engine.Deletion
	answer, fail := engine.Erased{}, engine.ErrNotFinalized
	w.erase = func(d engine.Deletion) (engine.Erased, error) {
		orders = append(orders, d)
		return answer, fail
	}
	w.start()
	w.newShard(all)
	w.expectCapturing("A B")
	from, to := int64(5), int64(9)
	w.edit(func(s *v1alpha1.ArchiveShard) {
		s.Spec.Erasures = []v1alpha1.ShardErasure{{Name: "x", Group: "ns/g", Reason: "bad calibration", From: &from, To: &to, Lists: []string{some, gone}}}
	})
	state := func() string {
		st := w.entry().Erasures
		if len(st) != 1 || st[0].Since == nil {
			return ""
		}
		return fmt.Sprintf("%s %d/%d: %s", st[0].State, st[0].Removed, st[0].PVs, st[0].Message)
	}
	w.Eventually(state).Should(HavePrefix("Waiting 0/2: samples can be deleted only in an archive of format level 6 or higher; finalize it"))
	w.engine.set(func(f *fakeEngine) {
		d := orders[0]
		if d.From != 5 || d.To != 9 || !slices.Equal(d.PVs, []string{"A", "GONE"}) || d.Group != "ns/g" || d.Reason != "bad calibration" || *d.Shard != 7 {
			t.Errorf("the order is %+v", d)
		}
		answer, fail = engine.Erased{Hidden: 2, New: 2}, nil
	})
	w.Eventually(state).Should(Equal("Hidden 0/2: "))

	w.kill()
	answer, fail = engine.Erased{}, errors.New("no quorum")
	w.start()
	w.Eventually(state).Should(Equal("Hidden 0/2: no quorum"))
	w.engine.set(func(*fakeEngine) { answer, fail = engine.Erased{Hidden: 2, Removed: 2}, nil })
	w.Eventually(state).Should(Equal("Done 2/2: "))
	w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Erasures = nil })
	w.Eventually(func() int { return len(w.entry().Erasures) }).Should(BeZero())
}

// TestAWithdrawnOrderDeletesNothing withdraws an order while the agent has no connection to the API server. The agent still has the
// order when it gets the connection back, and must not carry it out.
func TestAWithdrawnOrderDeletesNothing(t *testing.T) {
	w := newWorld(t)
	list := w.list("A")
	var orders atomic.Int32
	w.erase = func(engine.Deletion) (engine.Erased, error) {
		orders.Add(1)
		return engine.Erased{}, engine.ErrNotFinalized
	}
	w.start()
	w.newShard(list)
	w.expectCapturing("A")
	to := int64(9)
	w.edit(func(s *v1alpha1.ArchiveShard) {
		s.Spec.Erasures = []v1alpha1.ShardErasure{{Name: "x", Group: "ns/g", Reason: "test", To: &to, Lists: []string{list}}}
	})
	w.Eventually(func() int { return len(w.entry().Erasures) }).Should(Equal(1))
	w.cable.cut()
	w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Erasures = nil })
	before := orders.Load()
	w.Consistently(orders.Load, eraseRetry+2*time.Second).Should(Equal(before))
	w.cable.mend()
	w.Eventually(func() int { return len(w.entry().Erasures) }).Should(BeZero())
	if n := orders.Load(); n != before {
		t.Errorf("%d more attempts", n-before)
	}
}

// withdrawn is an API server in which the order is withdrawn.
type withdrawn struct{ client.WithWatch }

func (withdrawn) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.SetLabels(map[string]string{v1alpha1.EngineLabel("a"): ""})
	return nil
}

// TestAStaleMirrorConfirmsNoOrder reads a withdrawn order again while the mirror, which is behind, keeps putting the order back.
func TestAStaleMirrorConfirmsNoOrder(t *testing.T) {
	stale := &v1alpha1.ArchiveShard{Spec: v1alpha1.ArchiveShardSpec{Erasures: []v1alpha1.ShardErasure{{Name: "x"}}}}
	a := New(Config{Name: "a", Shards: 64, State: t.TempDir(), Client: withdrawn{}, Log: slog.New(slog.DiscardHandler)})
	s := &shard{}
	s.update(stale, handover.Present)
	a.shards = map[int]*shard{7: s}
	ctx, stop := context.WithCancel(t.Context())
	var mirror sync.WaitGroup
	mirror.Go(func() {
		for ctx.Err() == nil {
			a.mu.Lock()
			s.update(stale, handover.Present)
			a.mu.Unlock()
		}
	})
	defer mirror.Wait()
	defer stop()
	for range 10_000 {
		if stands, err := a.confirmErasure(ctx, 7, "x"); stands || err != nil {
			t.Fatalf("a withdrawn order stands: %v, %v", stands, err)
		}
	}
}
