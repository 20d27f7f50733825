// Package forecast predicts how the retention of groups would affect an archive, before the
// groups are applied. The command varve retention plan prints the result:
//
//	groups ─▶ compile.Compile ─▶ PV → retention ─┐
//	                                             ├─▶ per group: stored, moved, deleted data
//	store ─▶ directory, blocks of sampled PVs ───┘
package forecast

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/store"
)

// Store is the part of a store that a forecast reads.
type Store interface {
	Channels(ctx context.Context) iter.Seq2[store.Channel, error]
	Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error]
}

// Amount is an amount of stored data.
type Amount struct{ Samples, Bytes int64 }

func (a *Amount) add(b *store.Block) {
	a.Samples += int64(b.Count)
	a.Bytes += int64(len(b.Blob))
}

func (a *Amount) join(o Amount) {
	a.Samples += o.Samples
	a.Bytes += o.Bytes
}

// Outcome is the predicted outcome for a set of blocks.
type Outcome struct {
	// Stored is the data stored today, by tier.
	Stored [store.NumTiers]Amount
	// Move is the data that is copied to another tier. Delete is the data that is deleted
	// because it is older than the new tier keeps it.
	Move, Delete Amount
	// Oldest is the time of the first sample, and DeletedUntil the time of the last deleted
	// sample, in ns since 1970; 0 if there is none.
	Oldest, DeletedUntil int64
}

// PV is the forecast of one PV.
type PV struct {
	Name string
	// InGroup means that a group names the PV. Retention is then its future retention.
	InGroup   bool
	Retention store.Retention
	Outcome
}

// Group is the forecast of the PVs whose settings one group decides.
type Group struct {
	// Name is namespace/name, or "" for the PVs that no group names.
	Name string
	// PVs is the number of PVs. WithData counts the PVs with stored data. Moving counts the
	// PVs with data on a tier other than their future tier.
	PVs, WithData, Moving int
	// Sampled are the PVs whose blocks were read, sorted by name. Outcome is their sum,
	// scaled up to all PVs with data.
	Sampled []PV
	Outcome
}

// Options are the options of a forecast.
type Options struct {
	// Only limits the forecast to one group; "" means all groups.
	Only string
	// MaxPVs is the number of PVs per group whose blocks are read; 0 means all.
	MaxPVs int
	Now    time.Time
	// Progress is called after each PV, with the number of PVs read and their total. It may
	// be nil.
	Progress func(done, all int)
}

// Make returns a forecast for the assignment of the future groups, based on the contents of a
// store.
func Make(ctx context.Context, st Store, assignment map[int][]capture.Channel, o Options) ([]Group, error) {
	m := maker{store: st, opts: o, now: o.Now.UnixNano(), assigned: map[string]*capture.Channel{}, groups: map[string]*groupSample{}}
	for _, channels := range assignment {
		for i := range channels {
			m.assigned[channels[i].PV] = &channels[i]
			m.group(channels[i].Group).PVs++
		}
	}
	if err := m.sample(ctx); err != nil {
		return nil, fmt.Errorf("reading the directory: %w", err)
	}
	all, done := 0, 0
	for _, g := range m.groups {
		all += len(g.channels)
	}
	var out []Group
	for _, name := range slices.Sorted(maps.Keys(m.groups)) {
		g := m.groups[name]
		slices.SortFunc(g.channels, func(a, b store.Channel) int { return cmp.Compare(a.PV, b.PV) })
		for i := range g.channels {
			pv, err := m.predict(ctx, &g.channels[i])
			if err != nil {
				return nil, fmt.Errorf("reading blocks of %s: %w", g.channels[i].PV, err)
			}
			g.Sampled = append(g.Sampled, pv)
			if done++; o.Progress != nil {
				o.Progress(done, all)
			}
		}
		g.total()
		out = append(out, g.Group)
	}
	return out, nil
}

// maker is one run of Make.
type maker struct {
	store    Store
	opts     Options
	now      int64
	assigned map[string]*capture.Channel // by PV
	groups   map[string]*groupSample
}

// groupSample is a group with a random sample of its PVs.
type groupSample struct {
	Group
	channels []store.Channel
	rng      *rand.Rand
}

func (m *maker) group(name string) *groupSample {
	if m.groups[name] == nil && m.opts.Only != "" && m.opts.Only != name {
		return &groupSample{rng: rand.New(rand.NewPCG(1, 1))} // not part of the result
	}
	if m.groups[name] == nil {
		m.groups[name] = &groupSample{Group: Group{Name: name}, rng: rand.New(rand.NewPCG(1, 1))}
	}
	return m.groups[name]
}

// sample reads the directory and selects the PVs whose blocks are read. Each PV of a group is
// selected with the same probability.
func (m *maker) sample(ctx context.Context) error {
	for ch, err := range m.store.Channels(ctx) {
		if err != nil {
			return err
		}
		if len(ch.Starts) == 0 {
			continue
		}
		name := ""
		assigned := m.assigned[ch.PV]
		if assigned != nil {
			name = assigned.Group
		}
		g := m.group(name)
		if assigned == nil {
			g.PVs++
		}
		g.WithData++
		if assigned != nil && m.isOnOtherTier(&ch, assigned.Settings.Retention.Raw) {
			g.Moving++
		}
		if n := m.opts.MaxPVs; n == 0 || len(g.channels) < n {
			g.channels = append(g.channels, ch)
		} else if i := g.rng.IntN(g.WithData); i < n {
			g.channels[i] = ch
		}
	}
	return nil
}

// isOnOtherTier reports whether blocks of a PV may be on another tier.
func (m *maker) isOnOtherTier(ch *store.Channel, than store.Tier) bool {
	for b := range store.InUse(ch.Starts, m.now, m.now) {
		if b.Tier() != than {
			return true
		}
	}
	return false
}

// predict returns the forecast of one PV.
func (m *maker) predict(ctx context.Context, ch *store.Channel) (PV, error) {
	pv := PV{Name: ch.PV}
	if assigned := m.assigned[ch.PV]; assigned != nil {
		pv.InGroup, pv.Retention = true, assigned.Settings.Retention
	}
	for b := range store.InUse(ch.Starts, m.now, m.now) {
		for blk, err := range m.store.Blocks(ctx, ch.PV, b, math.MinInt64, math.MaxInt64) {
			if err != nil {
				return pv, err
			}
			pv.add(&blk, m.now)
		}
	}
	return pv, nil
}

// add counts a block.
func (p *PV) add(b *store.Block, now int64) {
	at := b.Bucket.Tier()
	p.Stored[at].add(b)
	if b.Count > 0 && (p.Oldest == 0 || b.Start < p.Oldest) {
		p.Oldest = b.Start
	}
	to := p.Retention.Raw
	switch {
	case !p.InGroup || at == to:
	case to != store.Forever && to.Longest().Of(b.End).End() <= now-int64(to.Keep()):
		p.Delete.add(b)
		p.DeletedUntil = max(p.DeletedUntil, b.End)
	default:
		p.Move.add(b)
	}
}

// total adds up the sampled PVs, and scales the sum to all PVs with data.
func (g *groupSample) total() {
	for i := range g.Sampled {
		f := &g.Sampled[i].Outcome
		for r := range f.Stored {
			g.Stored[r].join(f.Stored[r])
		}
		g.Move.join(f.Move)
		g.Delete.join(f.Delete)
		if f.Oldest != 0 && (g.Oldest == 0 || f.Oldest < g.Oldest) {
			g.Oldest = f.Oldest
		}
		g.DeletedUntil = max(g.DeletedUntil, f.DeletedUntil)
	}
	if len(g.Sampled) == 0 {
		return
	}
	scale := float64(g.WithData) / float64(len(g.Sampled))
	for r := range g.Stored {
		g.Stored[r].scale(scale)
	}
	g.Move.scale(scale)
	g.Delete.scale(scale)
}

func (a *Amount) scale(by float64) {
	a.Samples = int64(math.Round(float64(a.Samples) * by))
	a.Bytes = int64(math.Round(float64(a.Bytes) * by))
}
