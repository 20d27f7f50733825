package seal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// refuse makes the store refuse the blocks of a PV, or of none if the PV is empty.
func (m *simulation) refuse(pv string) {
	_ = m.st.with(func() {
		m.st.refuse = func(b *store.Block) error {
			if b.PV == pv {
				return errors.New("the block is refused")
			}
			return nil
		}
	})
}

// samplesInBlocks returns the samples of a PV in blocks, without duplicates, and the number of all
// samples.
func (m *simulation) samplesInBlocks(pv string) (different, all int) {
	seen := map[int64]bool{}
	m.st.mu.Lock()
	defer m.st.mu.Unlock()
	for p, blocks := range m.st.blocks {
		for _, b := range blocks {
			r := new(sample.Run)
			if p.pv != pv || b.Count == 0 {
				continue
			}
			if err := scan.Decode(r, &b); err != nil {
				m.t.Fatal(err)
			}
			for _, t := range r.Times {
				seen[t] = true
			}
			all += b.Count
		}
	}
	return len(seen), all
}

// TestRefusedPVDoesNotKeepOthersWaiting refuses the blocks of one PV for some hours. The samples of
// the other PV must be sealed meanwhile, without duplicates, the sealed positions must stay before
// the refused samples, and nothing may be missing at the end: not the samples of the leader, not
// those of a writer that has ended, and not those that left memory.
func TestRefusedPVDoesNotKeepOthersWaiting(t *testing.T) {
	for name, memory := range map[string]int64{"InMemory": 1 << 30, "Released": 6 << 10} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newSimulation(t, 1)
				first := m.launch()
				for range 10 {
					m.putRow(first, 10, "A", "B")
					time.Sleep(time.Minute)
				}
				first.end()
				m.memory = memory
				second := m.launch()
				m.putRow(second, 10, "B")
				time.Sleep(time.Second)
				m.refuse("A")
				ctx, end := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				wg.Go(func() { second.shard.Run(ctx) })
				released := false
				for range 50 {
					m.putRow(second, 10, "A", "B")
					time.Sleep(2*time.Minute + time.Second)
					_, _, some := second.shardJournal.Released()
					released = released || some
				}
				time.Sleep(time.Hour)
				if n, all := m.samplesInBlocks("B"); n != 610 || all > n+n/10 {
					t.Errorf("%d samples of the other PV are in blocks, %d with duplicates; want all 610", n, all)
				}
				if n, _ := m.samplesInBlocks("A"); n != 0 {
					t.Errorf("%d samples of the refused PV are in blocks", n)
				}
				claims, _ := m.st.Claims(t.Context(), 0)
				for _, c := range claims {
					if at := m.firstRowWith(c.Writer, "A"); c.Sealed >= at {
						t.Errorf("writer %v is sealed up to %x, and row %x has samples of the refused PV", c.Writer, c.Sealed, at)
					}
				}
				if c := m.claim(second); c.Sealed == 0 {
					t.Error("the row without samples of the refused PV does not count as sealed")
				}
				if released != (name == "Released") {
					t.Errorf("samples were released: %v", released)
				}
				if err := second.shard.Delete(t.Context(), []string{"A"}); err == nil || !strings.Contains(err.Error(), "A") {
					t.Errorf("the deletion of a PV whose samples are not sealed returns %v", err)
				}
				m.refuse("")
				// The deletion has tried the refused PV at any time between two checkpoints. The
				// next checkpoint tries it again if it comes at least half an interval later.
				time.Sleep(25 * time.Minute)
				end()
				wg.Wait()
				for _, pv := range []string{"A", "B"} {
					if n, _ := m.samplesInBlocks(pv); n != len(m.all[pv]) {
						t.Errorf("at the end %d samples of %s are in blocks, want %d", n, pv, len(m.all[pv]))
					}
				}
				if c := m.claim(second); c.Sealed != second.shardJournal.Acked() {
					t.Errorf("at the end the claim says %x is sealed, of %x", c.Sealed, second.shardJournal.Acked())
				}
				var counted dto.Metric
				if err := second.shard.cfg.Metrics.Samples.Write(&counted); err != nil {
					t.Fatal(err)
				}
				if n, all := counted.Counter.GetValue(), len(m.all["A"])+len(m.all["B"]); int(n) < all || int(n) > all+all/10 {
					t.Errorf("%v samples count as sealed, want %d and some duplicates", n, all)
				}
				if claims, _ = m.st.Claims(t.Context(), 0); len(claims) != 1 {
					t.Error("the claim of the ended writer is not dropped")
				}
			})
		})
	}
}

// firstRowWith returns the position of the first row of a writer with samples of a PV.
func (m *simulation) firstRowWith(w store.WriterID, pv string) store.Position {
	m.st.mu.Lock()
	defer m.st.mu.Unlock()
	for _, r := range m.st.journal[w] {
		if held, err := journal.Holds(r.Index, pv); err != nil || held {
			return r.At
		}
	}
	m.t.Fatalf("no row of %v has samples of %s", w, pv)
	return 0
}

// TestAFullDiskKeepsNothingWaiting fills the disk for the blocks of a PV. A checkpoint must not try for a
// minute per batch, because deletions wait for it. The samples must be sealed when there is space again.
func TestAFullDiskKeepsNothingWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 1)
		g := m.launch()
		m.putRow(g, 10, "A", "B")
		full := true
		m.st.refuse = func(b *store.Block) error {
			if full && b.PV == "A" {
				return fmt.Errorf("writing blocks: %w", store.ErrDiskFull)
			}
			return nil
		}
		begun := time.Now()
		m.checkpoint(g)
		if took := time.Since(begun); took > time.Second {
			t.Errorf("the checkpoint took %v", took)
		}
		if n, _ := m.samplesInBlocks("B"); n != 10 {
			t.Errorf("%d samples of the other PV are in blocks, want 10", n)
		}
		if c := m.claim(g); c.Sealed >= m.firstRowWith(c.Writer, "A") {
			t.Error("the row with refused samples counts as sealed")
		}
		full = false
		m.checkpoint(g)
		if n, _ := m.samplesInBlocks("A"); n != 10 {
			t.Errorf("%d samples are in blocks once there is space, want 10", n)
		}
	})
}
