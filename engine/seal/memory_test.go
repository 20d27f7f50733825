package seal

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"varve.dev/varve/engine/store"
)

// memory is a store in memory. It needs no real time, so days of a test's clock pass at once.
type memory struct {
	store.Store // nil: the methods that memory does not implement
	mu          sync.Mutex
	claims      map[store.WriterID]store.Claim
	journal     map[store.WriterID][]store.JournalRow
	blocks      map[partition]map[store.BlockKey]store.Block
	channels    map[string]store.Channel
	rollups     map[rollupKey]store.Rollup
	rolling     func() // called once, before tiles are written
	looked      func() // called once, after claims are read
	claimed     func() // called once, before the next claim is stored
	scanned     func() // called once, after blocks are read
	ttl         time.Duration
	refuse      func(b *store.Block) error // returns why a block is not written, if it is not nil
	// lost is a writer whose claims never arrive, although the writer gets no error.
	lost store.WriterID

	ops        int                         // operations so far
	tileWrites map[rollupKey]int           // how often each tile was written
	refuseTile func(r *store.Rollup) error // returns why a tile is not written, if it is not nil
	refuseRead func(pv string) error       // returns why tiles are not read, if it is not nil
	stored     func(b *store.Block)        // called with each block that was written, under the lock, if it is not nil
}

type partition struct {
	pv string
	in store.Bucket
}

type rollupKey struct {
	pv    string
	level store.Level
	tile  store.Tile
}

func newMemory() *memory {
	return &memory{
		claims: map[store.WriterID]store.Claim{}, journal: map[store.WriterID][]store.JournalRow{},
		blocks: map[partition]map[store.BlockKey]store.Block{}, channels: map[string]store.Channel{}, rollups: map[rollupKey]store.Rollup{},
		tileWrites: map[rollupKey]int{},
	}
}

// with calls f while it holds the lock, and counts it as an operation.
func (m *memory) with(f func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ops++
	f()
	return nil
}

func (m *memory) Tiers(context.Context) (tiers []store.Tier, err error) {
	for r := store.Forever; r.Valid(); r++ {
		tiers = append(tiers, r)
	}
	return tiers, nil
}

func (m *memory) PutClaim(_ context.Context, c store.Claim) error {
	var claimed func()
	m.mu.Lock()
	claimed, m.claimed = m.claimed, nil
	m.mu.Unlock()
	if claimed != nil {
		claimed()
	}
	return m.with(func() {
		if c.Writer == m.lost {
			return
		}
		c.Sealed = m.claims[c.Writer].Sealed
		m.claims[c.Writer] = c
	})
}

func (m *memory) Seal(_ context.Context, _ int, w store.WriterID, to store.Position) error {
	return m.with(func() {
		if c, ok := m.claims[w]; ok {
			c.Sealed = max(c.Sealed, to)
			m.claims[w] = c
		}
	})
}

func (m *memory) Claims(context.Context, int) (claims []store.Claim, err error) {
	var looked func()
	err = m.with(func() {
		claims = slices.SortedFunc(maps.Values(m.claims), func(a, b store.Claim) int { return cmp.Compare(b.Epoch, a.Epoch) })
		looked, m.looked = m.looked, nil
	})
	if looked != nil {
		looked()
	}
	return claims, err
}

func (m *memory) DropClaim(_ context.Context, c store.Claim) error {
	return m.with(func() {
		now := m.claims[c.Writer]
		if now.Sealed = c.Sealed; now == c {
			delete(m.claims, c.Writer)
			m.journal[c.Writer] = slices.DeleteFunc(m.journal[c.Writer], func(r store.JournalRow) bool { return r.At <= c.Sealed })
		}
	})
}

// Delete deletes the directory entry of a PV. Tests delete PVs without samples.
func (m *memory) Delete(_ context.Context, pv string) error {
	return m.with(func() { delete(m.channels, pv) })
}

func (m *memory) JournalTTL(context.Context) (time.Duration, error) { return m.ttl, nil }

func (m *memory) PutJournal(_ context.Context, r store.JournalRow) error {
	r.Index, r.Blob = slices.Clone(r.Index), slices.Clone(r.Blob)
	r.Written = 0
	if m.ttl > 0 {
		r.Written = time.Now().UnixNano()
	}
	return m.with(func() {
		rows := m.journal[r.Writer]
		i, has := slices.BinarySearchFunc(rows, r.At, func(r store.JournalRow, at store.Position) int { return cmp.Compare(r.At, at) })
		if has {
			rows[i] = r
			return
		}
		m.journal[r.Writer] = slices.Insert(rows, i, r)
	})
}

func (m *memory) Journal(_ context.Context, _ int, w store.WriterID, after, through store.Position) iter.Seq2[store.JournalRow, error] {
	var rows []store.JournalRow
	_ = m.with(func() {
		m.expireLocked()
		at := after
		for _, r := range m.journal[w] {
			if r.At.N() > max(at.N()+1, through.N()) {
				break // like Cassandra, which reads one partition after the other
			}
			if r.At > after {
				rows, at = append(rows, r), r.At
			}
		}
	})
	return yieldAll(rows)
}

func (m *memory) JournalWhere(ctx context.Context, shard int, w store.WriterID, after, through store.Position, wanted func([]byte) bool) iter.Seq2[store.JournalRow, error] {
	return func(yield func(store.JournalRow, error) bool) {
		for r, err := range m.Journal(ctx, shard, w, after, through) {
			if !wanted(r.Index) {
				r.Blob = nil
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// expireLocked deletes the rows that are too old.
func (m *memory) expireLocked() {
	for w, rows := range m.journal {
		m.journal[w] = slices.DeleteFunc(rows, func(r store.JournalRow) bool {
			return r.Written > 0 && time.Since(time.Unix(0, r.Written)) > m.ttl
		})
	}
}

func (m *memory) PutBlocks(_ context.Context, blocks ...store.Block) error {
	var refuse func(b *store.Block) error
	_ = m.with(func() { refuse = m.refuse })
	for i := range blocks {
		if refuse == nil {
			break
		}
		if err := refuse(&blocks[i]); err != nil {
			return err
		}
	}
	return m.with(func() {
		for _, b := range blocks {
			p := partition{b.PV, b.Bucket}
			if m.blocks[p] == nil {
				m.blocks[p] = map[store.BlockKey]store.Block{}
			}
			m.blocks[p][b.BlockKey] = b
			if m.stored != nil {
				m.stored(&b)
			}
		}
	})
}

func (m *memory) Blocks(_ context.Context, pv string, in store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	var out []store.Block
	var scanned func()
	_ = m.with(func() {
		scanned, m.scanned = m.scanned, nil
		for _, b := range m.blocks[partition{pv, in}] {
			if b.Start <= to && b.End >= from {
				out = append(out, b)
			}
		}
	})
	if scanned != nil {
		scanned()
	}
	slices.SortFunc(out, func(a, b store.Block) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), slices.Compare(a.Writer[:], b.Writer[:]), cmp.Compare(a.N, b.N))
	})
	return yieldAll(out)
}

func (m *memory) LastBlock(_ context.Context, pv string, in store.Bucket, at int64) (last store.Block, found bool, err error) {
	err = m.with(func() {
		for _, b := range m.blocks[partition{pv, in}] {
			if b.Start <= at && (!found || b.End > last.End) {
				last, found = b, true
			}
		}
	})
	return last, found, err
}

func (m *memory) AddChannel(_ context.Context, c store.Channel) error {
	return m.with(func() {
		has := m.channels[c.PV]
		has.PV = c.PV
		has.Shards = union(has.Shards, c.Shards)
		has.Starts = union(has.Starts, c.Starts)
		has.Types = union(has.Types, c.Types)
		has.Levels = union(has.Levels, c.Levels)
		m.channels[c.PV] = has
	})
}

func (m *memory) Channel(_ context.Context, pv string) (c store.Channel, found bool, err error) {
	err = m.with(func() {
		c, found = m.channels[pv]
		c.Shards, c.Starts = slices.Clone(c.Shards), slices.Clone(c.Starts)
		c.Types, c.Levels = slices.Clone(c.Types), slices.Clone(c.Levels)
	})
	return c, found, err
}

func (m *memory) PutRollups(_ context.Context, rows ...store.Rollup) error {
	var rolling func()
	var refuse func(r *store.Rollup) error
	_ = m.with(func() {
		if refuse = m.refuseTile; len(rows) > 0 {
			rolling, m.rolling = m.rolling, nil
		}
	})
	if rolling != nil {
		rolling()
	}
	for i := range rows {
		if refuse == nil {
			break
		}
		if err := refuse(&rows[i]); err != nil {
			return err
		}
	}
	return m.with(func() {
		for _, r := range rows {
			k := rollupKey{r.PV, r.Level, r.Tile}
			m.tileWrites[k]++
			if there, ok := m.rollups[k]; !ok || there.Stamp <= r.Stamp {
				m.rollups[k] = r
			}
		}
	})
}

func (m *memory) Rollups(_ context.Context, pv string, l store.Level, first, last store.Tile) iter.Seq2[store.Rollup, error] {
	var rows []store.Rollup
	var refused error
	_ = m.with(func() {
		if m.refuseRead != nil {
			refused = m.refuseRead(pv)
		}
		for k, r := range m.rollups {
			if k.pv == pv && k.level == l && first <= k.tile && k.tile <= last {
				rows = append(rows, r)
			}
		}
	})
	if refused != nil {
		return func(yield func(store.Rollup, error) bool) { yield(store.Rollup{}, refused) }
	}
	slices.SortFunc(rows, func(a, b store.Rollup) int { return cmp.Compare(a.Tile, b.Tile) })
	return yieldAll(rows)
}

func union[E comparable](a, b []E) []E {
	for _, e := range b {
		if !slices.Contains(a, e) {
			a = append(slices.Clone(a), e)
		}
	}
	return a
}

func yieldAll[T any](rows []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}
