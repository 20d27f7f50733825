package seal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"

	"varve.dev/varve/engine/checksum"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// lossOf is a mark that a sealer reported.
type lossOf struct {
	pv string
	sample.Mark
}

// collectLosses makes a sealer report losses into a list.
func (g *simEngine) collectLosses() *[]lossOf {
	var losses []lossOf
	g.shard.cfg.Damaged = func(_ int, pv string, m sample.Mark) { losses = append(losses, lossOf{pv, m}) }
	// As in an engine, the last sealed sample of a PV is read from its blocks.
	g.shard.cfg.Last = func(ctx context.Context, pv string, at int64) (last *sample.Run, err error) {
		c, _, err := g.shard.cfg.Store.Channel(ctx, pv)
		if err != nil {
			return nil, err
		}
		sc := &scan.Scan{Store: g.shard.cfg.Store, PV: pv, From: at, To: at, Now: at}
		sc.Prepare(c.Starts)
		err = sc.Feed(ctx, func(r *sample.Run, i, j int) bool {
			last = new(sample.Run)
			r.Part(last, j-1, j)
			last = last.Clone()
			return true
		})
		return last, err
	}
	return &losses
}

// inBlocks counts the samples of a PV in blocks that can be read.
func (m *simulation) inBlocks(pv string) (n int) {
	for p, blocks := range m.st.blocks {
		for _, b := range blocks {
			if p.pv == pv && scan.Decode(new(sample.Run), &b) == nil {
				n += b.Count
			}
		}
	}
	return n
}

// putRow appends n samples of each PV to the journal of an engine, all in one row.
func (m *simulation) putRow(g *simEngine, n int, pvs ...string) {
	synctest.Wait() // no flush is under way
	for _, pv := range pvs {
		h := g.shardJournal.Open(pv, simTypes[pv])
		for i := range n {
			s := sample.Sample{Time: time.Now().UnixNano() + int64(i-n)*int64(time.Millisecond), Word: uint64(i)}
			m.all[pv] = append(m.all[pv], s)
			g.shardJournal.Append(h, simTypes[pv], &s)
		}
	}
	if err := g.shardJournal.Sync(context.Background()); err != nil {
		m.t.Fatal(err)
	}
}

// TestDamagedBlock checks that a shard whose last block of a PV cannot be read is sealed further:
// the other PVs and the new samples of the same PV. The loss is reported once, bins that were
// computed from the block stay, and nothing is carried forward in place of the lost samples.
func TestDamagedBlock(t *testing.T) {
	for name, spoil := range map[string]func(b *store.Block){
		"ABitChanged":     func(b *store.Block) { b.Blob = slices.Clone(b.Blob); b.Blob[len(b.Blob)/2] ^= 4 },
		"Truncated":       func(b *store.Block) { b.Blob = b.Blob[:len(b.Blob)-1] },
		"Empty":           func(b *store.Block) { b.Blob = nil },
		"PartsAreMissing": func(b *store.Block) { b.Blob, b.Damage = nil, errors.New("parts of a blob are missing") },
		"LaterVersion":    func(b *store.Block) { b.Blob = append([]byte{99}, b.Blob[1:]...) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				level := store.LevelOf(10*time.Second, store.Forever)
				m := newSimulation(t, 1, level)
				first := m.launch()
				for _, pv := range []string{"A", "B"} {
					m.put(pv, m.some(pv, 10*time.Minute, 100), first)
				}
				m.checkpoint(first)
				first.end()
				bins := m.rows("A", level)
				for p, blocks := range m.st.blocks {
					for key, b := range blocks {
						if p.pv == "A" {
							spoil(&b)
							blocks[key] = b
						}
					}
				}
				had := m.inBlocks("B")

				time.Sleep(time.Minute)
				second := m.launch()
				losses := second.collectLosses()
				for range 3 {
					for _, pv := range []string{"A", "B"} {
						m.put(pv, m.some(pv, 30*time.Second, 10), second)
					}
					m.checkpoint(second)
					time.Sleep(time.Minute)
				}
				if a, b := m.inBlocks("A"), m.inBlocks("B")-had; a == 0 || b == 0 {
					t.Errorf("of the samples after the damage, %d of A and %d of B are in blocks", a, b)
				}
				if n := second.shardJournal.Unsaved(); n != 0 || first.shardJournal.Heads() == nil {
					t.Errorf("%d samples are not durable", n)
				}
				for _, h := range second.shardJournal.Heads() {
					if h.Acked() != 0 {
						t.Errorf("%d samples of %s are not sealed", h.Acked(), h.PV)
					}
				}
				var counted dto.Metric
				if err := second.shard.cfg.Metrics.Damaged.Write(&counted); err != nil || counted.Counter.GetValue() != 1 {
					t.Errorf("%v damaged blocks are counted, %v", counted.Counter.GetValue(), err)
				}
				if name == "LaterVersion" {
					if n := second.shard.cfg.Found().Found().Count; n != 0 {
						t.Errorf("%d blocks of a later version count as damaged", n)
					}
					if len(*losses) != 0 {
						t.Errorf("samples that a later version can read are reported as lost: %v", *losses)
					}
				} else if l := *losses; len(l) != 1 || l[0].pv != "A" || l[0].Reason != sample.Damaged || l[0].Kind != sample.Lost || l[0].Count < 90 ||
					l[0].Time != m.all["A"][0].Time || l[0].End != m.all["A"][99].Time {
					t.Errorf("reported losses: %+v", l)
				}
				if found := second.shard.cfg.Found().Found(); name != "LaterVersion" && (found.Count != 1 || len(found.IDs) != 1 || !strings.HasPrefix(found.First, "the block of A that begins at 1999-12-31T23:5")) {
					t.Errorf("reported as damaged: %+v", found)
				}
				now := m.rows("A", level)
				for _, tile := range bins {
					for _, b := range tile.Bins {
						if !slices.ContainsFunc(now, func(t *rollup.Tile) bool {
							return slices.ContainsFunc(t.Bins, func(o rollup.Bin) bool { return o.Start == b.Start && o.Count >= b.Count })
						}) {
							t.Errorf("the bin of %d samples at %d is gone", b.Count, b.Start)
						}
					}
				}
			})
		})
	}
}

// TestDamagedRow checks that a damaged journal row of another writer does not keep the samples of
// this engine from being sealed. The rows before it are sealed at once, and those after it when
// the row is still damaged after a while. Until then it may become readable.
func TestDamagedRow(t *testing.T) {
	for name, c := range map[string]struct {
		spoil  func(r *store.JournalRow)
		mend   bool
		losses []string // PVs
		waits  bool     // forever
	}{
		"ABitOfTheBodyChanged":  {spoil: func(r *store.JournalRow) { r.Blob[len(r.Blob)/2] ^= 1 }, losses: []string{"A", "B"}},
		"ABitOfTheIndexChanged": {spoil: func(r *store.JournalRow) { r.Index[len(r.Index)/2] ^= 1 }, losses: []string{""}},
		"PartsAreMissing":       {spoil: func(r *store.JournalRow) { r.Blob, r.Damage = nil, errors.New("parts of a blob are missing") }, losses: []string{"A", "B"}},
		"ReadableLater":         {spoil: func(r *store.JournalRow) { r.Damage = errors.New("parts of a blob are missing") }, mend: true},
		"LaterVersion": {spoil: func(r *store.JournalRow) {
			r.Index[0] = 99
			r.Index = checksum.Append(r.Index[:len(r.Index)-checksum.Size], 0)
		}, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newSimulation(t, 1)
				first := m.launch()
				for range 3 {
					m.putRow(first, 10, "A", "B")
					time.Sleep(time.Minute)
				}
				first.end()
				w := first.shardJournal.Writer()
				written := m.st.journal[w]
				if len(written) != 3 {
					t.Fatalf("%d rows", len(written))
				}
				whole := written[1]
				written[1].Index, written[1].Blob = slices.Clone(whole.Index), slices.Clone(whole.Blob)
				c.spoil(&written[1])

				second := m.launch()
				losses := second.collectLosses()
				m.putRow(second, 10, "B")
				if err := second.shard.Checkpoint(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be read yet") {
					t.Errorf("with a damaged row the checkpoint returns %v", err)
				}
				if a, b := m.inBlocks("A"), m.inBlocks("B"); a != 10 || b != 20 {
					t.Errorf("before the damaged row, %d samples of A and %d of B are sealed; want 10 and 20", a, b)
				}
				if c.mend {
					written[1] = whole
				}
				time.Sleep(rowGrace + time.Second)
				if err := second.shard.Checkpoint(t.Context()); (err != nil) != c.waits {
					t.Errorf("after the grace period the checkpoint returns %v", err)
				}
				want := 20
				switch {
				case c.waits:
					want = 10
				case c.mend:
					want = 30
				}
				if a, b := m.inBlocks("A"), m.inBlocks("B"); a != want || b != want+10 {
					t.Errorf("at the end %d samples of A and %d of B are sealed; want %d and %d", a, b, want, want+10)
				}
				var pvs []string
				for _, l := range *losses {
					pvs = append(pvs, l.pv)
					if l.Kind != sample.Lost || l.Reason != sample.Damaged || l.Time > m.all["A"][10].Time || l.End < m.all["A"][19].Time {
						t.Errorf("reported as lost: %+v", l)
					}
				}
				if found := second.shard.cfg.Found().Found(); found.Count != min(1, len(c.losses)) || found.Count > 0 && found.First != fmt.Sprintf("row %d/%d in the journal of shard 0", whole.At.N(), whole.At.Seq()) {
					t.Errorf("reported as damaged: %+v", found)
				}
				if slices.Sort(pvs); !slices.Equal(pvs, c.losses) {
					t.Errorf("losses are reported of %q, want %q", pvs, c.losses)
				}
				if _, held := m.st.claims[w]; held != c.waits {
					t.Errorf("the store holds the claim of the ended writer: %v", held)
				}
			})
		})
	}
}

// TestRowDamagedAtEachByte damages each byte of the index and of the body of a journal row. After a
// while the other rows of its writer and the samples of others are sealed, and a loss is reported.
func TestRowDamagedAtEachByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for at, damaged := 0, true; damaged; at++ {
			m := newSimulation(t, 1)
			first := m.launch()
			for range 3 {
				m.putRow(first, 2, "A")
				time.Sleep(time.Second)
			}
			first.end()
			row := &m.st.journal[first.shardJournal.Writer()][1]
			row.Index, row.Blob = slices.Clone(row.Index), slices.Clone(row.Blob)
			switch n := len(row.Index); {
			case at < n:
				row.Index[at] ^= 0x10
			case at < n+len(row.Blob):
				row.Blob[at-n] ^= 0x10
			default:
				damaged = false
			}
			second := m.launch()
			losses := second.collectLosses()
			m.putRow(second, 2, "B")
			_ = second.shard.Checkpoint(t.Context())
			time.Sleep(rowGrace + time.Second)
			m.checkpoint(second)
			want := 4
			if !damaged {
				want = 6
			}
			if a, b := m.inBlocks("A"), m.inBlocks("B"); a != want || b != 2 || len(*losses) != 6-want-min(1, 6-want) {
				t.Errorf("byte %d: %d samples of the damaged writer and %d of the other are sealed, and %d losses reported", at, a, b, len(*losses))
			}
			second.end()
		}
	})
}

// TestDamageIsCountedOnce checks that an object that several sealers find counts once, and that its ID
// is the same in every engine.
func TestDamageIsCountedOnce(t *testing.T) {
	var one, other Damage
	for i := range 3 {
		one.note("block A", "the block of A")
		other.note(fmt.Sprint("block ", i), "another block")
		other.note("block A", "the block of A")
	}
	a, b := one.Found(), other.Found()
	if a.Count != 1 || len(a.IDs) != 1 || a.First != "the block of A" {
		t.Errorf("one engine found %+v", a)
	}
	if b.Count != 4 || b.First != "another block" || !slices.Contains(b.IDs, a.IDs[0]) {
		t.Errorf("the other engine found %+v", b)
	}
	for i := range 2 * MaxIDs {
		one.note(fmt.Sprint("row ", i), "a row")
	}
	if a := one.Found(); a.Count != 1+2*MaxIDs || len(a.IDs) != MaxIDs {
		t.Errorf("%d objects with %d IDs", a.Count, len(a.IDs))
	}
}
