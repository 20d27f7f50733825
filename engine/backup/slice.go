package backup

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"varve.dev/varve/engine/names"
	"varve.dev/varve/engine/store"
)

const (
	// slicePVs is the mean number of PVs in a slice at most, when the number of slices is chosen. It then stays the same
	// for later backups while the mean is between an eighth and four times of it, so that their packs are the same.
	slicePVs     = 256
	maxSliceBits = 20
	// rounds is how often the directory of a slice is read again until it lists no new buckets.
	rounds = 10
	// ahead is how far into the future blocks are copied, because clocks of IOCs differ.
	ahead = 24 * time.Hour
)

// Lister is a store that lists PVs without the directory. In other stores, the marks and metadata of PVs that have never had a
// sealed sample are not found.
type Lister interface {
	// PVs yields the names of all PVs with marks, metadata or a directory entry, each at least once.
	PVs(ctx context.Context) iter.Seq2[string, error]
}

// names returns the names of all PVs, and the key of the register of names.
func (c *creator) names(ctx context.Context) (pvs []string, err error) {
	err = again(ctx, "reading the names of the PVs", func() error {
		pvs = []string{names.Register}
		if lister, ok := c.store.(Lister); ok {
			for pv, err := range lister.PVs(ctx) {
				if err != nil {
					return err
				}
				if pv != pvs[len(pvs)-1] {
					pvs = append(pvs, pv)
				}
			}
			return nil
		}
		for ch, err := range c.store.Channels(ctx) {
			if err != nil {
				return err
			}
			pvs = append(pvs, ch.PV)
		}
		return nil
	})
	slices.Sort(pvs)
	return slices.Compact(pvs), err
}

// sliceBits returns how many bits of a hash select a slice. former is the number in the former backup, or -1.
func sliceBits(pvs, former int) (bits int) {
	if mean := pvs >> max(former, 0); former >= 0 && former <= maxSliceBits && mean <= 4*slicePVs && (mean >= slicePVs/8 || former == 0) {
		return former
	}
	for pvs>>bits > slicePVs && bits < maxSliceBits {
		bits++
	}
	return bits
}

// sliceOf returns the slice of a PV.
func sliceOf(pv string, bits int) uint64 { return xxhash.Sum64String(pv) >> (64 - bits) }

// slicesOf yields the PVs of each slice, sorted by name. It sorts pvs.
func slicesOf(pvs []string, bits int) iter.Seq[[]string] {
	slices.SortFunc(pvs, func(a, b string) int {
		return cmp.Or(cmp.Compare(sliceOf(a, bits), sliceOf(b, bits)), cmp.Compare(a, b))
	})
	return func(yield func([]string) bool) {
		for len(pvs) > 0 {
			n := 1
			for n < len(pvs) && sliceOf(pvs[n], bits) == sliceOf(pvs[0], bits) {
				n++
			}
			if !yield(pvs[:n:n]) {
				return
			}
			pvs = pvs[n:]
		}
	}
}

// entry is the directory entry of a PV, as it was read before and after its blocks.
type entry struct {
	pv            string
	found         bool
	before, after store.Channel
}

// slice copies the rows of the PVs of a slice.
func (c *creator) slice(ctx context.Context, pvs []string) error {
	entries := make([]entry, len(pvs))
	for i, pv := range pvs {
		entries[i].pv = pv
	}
	if err := c.readDirectory(ctx, entries); err != nil {
		return err
	}
	work := make([]area, len(entries))
	for i := range entries {
		e := &entries[i]
		e.before = e.after
		work[i] = area{pv: e.pv, tiers: tiersOf(&e.before), starts: e.before.Starts, levels: e.before.Levels}
	}
	for round := 0; len(work) > 0; round++ {
		if round == rounds {
			return fmt.Errorf("the directory entry of %s changed %d times while its blocks were read; repeat the command", work[0].pv, rounds)
		}
		if err := c.blocks(ctx, work); err != nil {
			return err
		}
		if err := c.rollups(ctx, work); err != nil {
			return err
		}
		seen := make([]store.Channel, len(entries))
		for i := range entries {
			seen[i] = entries[i].after
		}
		if err := c.readDirectory(ctx, entries); err != nil {
			return err
		}
		work = grown(entries, seen)
	}
	if err := c.history(ctx, entries); err != nil {
		return err
	}
	if err := c.directory(ctx, entries); err != nil {
		return err
	}
	c.opts.Progress.PVs.Add(int64(len(pvs)))
	return nil
}

// readDirectory reads the entries into after.
func (c *creator) readDirectory(ctx context.Context, entries []entry) error {
	for i := range entries {
		e := &entries[i]
		if e.pv == names.Register {
			continue
		}
		err := again(ctx, "reading the directory entry of "+e.pv, func() (err error) {
			e.after, e.found, err = c.store.Channel(ctx, e.pv)
			return err
		})
		if err != nil {
			return err
		}
		e.after.PV = e.pv
		sortSets(&e.after)
		for _, s := range e.after.Shards {
			if s < 0 || s >= 2*c.opts.Shards {
				return fmt.Errorf("%s has samples in shard %d, so the archive has more than %d shards: give the number of shards of the archive",
					e.pv, s, c.opts.Shards)
			}
		}
	}
	return nil
}

// sortSets sorts the sets of an entry, so that equal entries have equal bytes.
func sortSets(c *store.Channel) {
	slices.Sort(c.Shards)
	slices.Sort(c.Starts)
	slices.Sort(c.Types)
	slices.Sort(c.Levels)
	slices.SortFunc(c.Deleted, func(a, b store.Deleted) int {
		done := func(d store.Deleted) int {
			if d.Done {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(done(a), done(b)))
	})
}

// grown returns the areas that the directory lists now, and did not list when seen was read.
func grown(entries []entry, seen []store.Channel) (work []area) {
	for i := range entries {
		after := &entries[i].after
		starts, levels := added(after.Starts, seen[i].Starts), added(after.Levels, seen[i].Levels)
		if len(starts)+len(levels) == 0 {
			continue
		}
		a := area{pv: after.PV, tiers: tiersOf(after), starts: starts, levels: after.Levels}
		if len(starts) > 0 {
			work = append(work, a)
		}
		if len(levels) > 0 {
			a.starts, a.levels, a.onlyRollups = after.Starts, levels, true
			work = append(work, a)
		}
	}
	return work
}

func added[T comparable](now, before []T) (out []T) {
	for _, v := range now {
		if !slices.Contains(before, v) {
			out = append(out, v)
		}
	}
	return out
}

// tiersOf returns the number of tiers that may hold samples of a PV.
func tiersOf(c *store.Channel) (n int) {
	used, _ := c.TiersInUse()
	for _, u := range used {
		if u {
			n++
		}
	}
	return n
}

// directory copies the entries as they were read last. A deletion counts as done only if it was done before the blocks were read.
func (c *creator) directory(ctx context.Context, entries []entry) error {
	p := c.newPacker(Directory)
	for i := range entries {
		e := &entries[i]
		if !e.found {
			continue
		}
		if e.after.Damaged > 0 {
			c.damaged("%s: %d elements of the directory entry cannot be read", e.pv, e.after.Damaged)
		}
		e.after.Deleted = slices.DeleteFunc(e.after.Deleted, func(d store.Deleted) bool { return d.Done && !slices.Contains(e.before.Deleted, d) })
		if err := p.add(ctx, &e.after); err != nil {
			return err
		}
		c.mu.Lock()
		c.manifest.PVs++
		samples, rollups := e.after.TiersInUse()
		for r := range c.tiers {
			c.tiers[r] = c.tiers[r] || samples[r] || rollups[r]
		}
		c.mu.Unlock()
	}
	return p.close(ctx)
}

// history copies the marks and the metadata of PVs, by years.
func (c *creator) history(ctx context.Context, entries []entry) error {
	until := c.begin.Add(ahead).UnixNano()
	first := until
	for i := range entries {
		for _, b := range entries[i].after.Starts {
			if b.Size().Valid() {
				first = min(first, b.Start())
			}
		}
	}
	begin, last := store.Year.Of(first), store.Year.Of(until)
	for y := begin; y <= last; y = y.Next() {
		from, to := y.Start(), y.End()-1
		if y == begin {
			from = math.MinInt64
		}
		if y == last {
			to = math.MaxInt64
		}
		p := c.newPacker(History)
		for i := range entries {
			pv := entries[i].pv
			if err := again(ctx, "reading the marks of "+pv, func() error { return c.marks(ctx, p, pv, from, to) }); err != nil {
				return err
			}
		}
		if err := p.close(ctx); err != nil {
			return err
		}
	}
	return nil
}

// marks copies the marks and the metadata of a PV in a range of time.
func (c *creator) marks(ctx context.Context, p *packer, pv string, from, to int64) error {
	for m, err := range c.store.Marks(ctx, pv, from, to) {
		if err != nil {
			return err
		}
		if err := p.add(ctx, &m); err != nil {
			return err
		}
	}
	for m, err := range c.store.Metadata(ctx, pv, from, to) {
		if err != nil {
			return err
		}
		if err := p.add(ctx, &m); err != nil {
			return err
		}
	}
	return nil
}
