// Package forecast says what groups' retention would do to an archive, before it is
// applied:
//
//	groups ─▶ compile.Compile ─▶ PV → retention ─┐
//	                                             ├─▶ per group: what stays, moves, goes
//	store ─▶ directory, blocks of some PVs ──────┘
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

// Store is what a forecast needs of a store.
type Store interface {
	Channels(ctx context.Context) iter.Seq2[store.Channel, error]
	Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error]
}

// Amount is so much of stored data.
type Amount struct{ Samples, Bytes int64 }

func (a *Amount) add(b *store.Block) {
	a.Samples += int64(b.Count)
	a.Bytes += int64(len(b.Blob))
}

func (a *Amount) join(o Amount) {
	a.Samples += o.Samples
	a.Bytes += o.Bytes
}

// Fate is what becomes of blocks.
type Fate struct {
	// Stored are all, by tier.
	Stored [store.NumTiers]Amount
	// Move are those that are copied to another tier, Go those that are older than it
	// keeps: they are deleted.
	Move, Go Amount
	// Oldest and Gone are the times, in ns since 1970, of the first sample, and up to
	// when samples go; 0 if there is none, or none goes.
	Oldest, Gone int64
}

// PV is the forecast of one PV.
type PV struct {
	Name string
	// Asked says that a group names it; then it is to be kept as Retention says.
	Asked     bool
	Retention store.Retention
	Fate
}

// Group is the forecast of the PVs that one group decides about.
type Group struct {
	// Name is namespace/name, or empty: of PVs that no group names.
	Name string
	// PVs is how many it decides about. Of WithData there is some, of Moving on another
	// tier than it is to be kept on.
	PVs, WithData, Moving int
	// Looked are those whose blocks were looked at, by name. Fate is of all that have
	// data: the sum of those, scaled up if they are not all.
	Looked []PV
	Fate
}

// Options of a forecast.
type Options struct {
	// Only is a group to look at alone; empty: all.
	Only string
	// Most is the number of PVs of a group whose blocks are looked at; 0 is all.
	Most int
	Now  time.Time
	// Progress is told of how many PVs of all were looked at; nil: nobody is.
	Progress func(done, all int)
}

// Make looks into a store. The assignment is that of the groups to be.
func Make(ctx context.Context, st Store, assignment map[int][]capture.Channel, o Options) ([]Group, error) {
	m := maker{store: st, opts: o, now: o.Now.UnixNano(), asked: map[string]*capture.Channel{}, groups: map[string]*drawn{}}
	for _, channels := range assignment {
		for i := range channels {
			m.asked[channels[i].PV] = &channels[i]
			m.group(channels[i].Group).PVs++
		}
	}
	if err := m.draw(ctx); err != nil {
		return nil, fmt.Errorf("reading the directory: %w", err)
	}
	all, done := 0, 0
	for _, g := range m.groups {
		all += len(g.some)
	}
	var out []Group
	for _, name := range slices.Sorted(maps.Keys(m.groups)) {
		g := m.groups[name]
		slices.SortFunc(g.some, func(a, b store.Channel) int { return cmp.Compare(a.PV, b.PV) })
		for i := range g.some {
			pv, err := m.pv(ctx, &g.some[i])
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", g.some[i].PV, err)
			}
			g.Looked = append(g.Looked, pv)
			if done++; o.Progress != nil {
				o.Progress(done, all)
			}
		}
		g.sum()
		out = append(out, g.Group)
	}
	return out, nil
}

// maker is one run of Make.
type maker struct {
	store  Store
	opts   Options
	now    int64
	asked  map[string]*capture.Channel
	groups map[string]*drawn
}

// drawn is a group, and those of its PVs to look at.
type drawn struct {
	Group
	some []store.Channel
	rng  *rand.Rand
}

func (m *maker) group(name string) *drawn {
	if m.groups[name] == nil && m.opts.Only != "" && m.opts.Only != name {
		return &drawn{rng: rand.New(rand.NewPCG(1, 1))} // nobody looks at it
	}
	if m.groups[name] == nil {
		m.groups[name] = &drawn{Group: Group{Name: name}, rng: rand.New(rand.NewPCG(1, 1))}
	}
	return m.groups[name]
}

// draw reads the directory, and draws the PVs to look at: each of a group with the
// same probability.
func (m *maker) draw(ctx context.Context) error {
	for ch, err := range m.store.Channels(ctx) {
		if err != nil {
			return err
		}
		if len(ch.Starts) == 0 {
			continue
		}
		name := ""
		asked := m.asked[ch.PV]
		if asked != nil {
			name = asked.Group
		}
		g := m.group(name)
		if asked == nil {
			g.PVs++
		}
		g.WithData++
		if asked != nil && m.elsewhere(&ch, asked.Settings.Retention.Raw) {
			g.Moving++
		}
		if n := m.opts.Most; n == 0 || len(g.some) < n {
			g.some = append(g.some, ch)
		} else if i := g.rng.IntN(g.WithData); i < n {
			g.some[i] = ch
		}
	}
	return nil
}

// elsewhere reports whether blocks of a PV may stand on another tier.
func (m *maker) elsewhere(ch *store.Channel, than store.Tier) bool {
	for b := range store.InUse(ch.Starts, m.now, m.now) {
		if b.Tier() != than {
			return true
		}
	}
	return false
}

// pv looks at the blocks of a PV.
func (m *maker) pv(ctx context.Context, ch *store.Channel) (PV, error) {
	pv := PV{Name: ch.PV}
	if asked := m.asked[ch.PV]; asked != nil {
		pv.Asked, pv.Retention = true, asked.Settings.Retention
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
	case !p.Asked || at == to:
	case to != store.Forever && to.Longest().Of(b.End).End() <= now-int64(to.Keep()):
		p.Go.add(b)
		p.Gone = max(p.Gone, b.End)
	default:
		p.Move.add(b)
	}
}

// sum sums up what was looked at, and scales it to all that is stored.
func (g *drawn) sum() {
	for i := range g.Looked {
		f := &g.Looked[i].Fate
		for r := range f.Stored {
			g.Stored[r].join(f.Stored[r])
		}
		g.Move.join(f.Move)
		g.Go.join(f.Go)
		if f.Oldest != 0 && (g.Oldest == 0 || f.Oldest < g.Oldest) {
			g.Oldest = f.Oldest
		}
		g.Gone = max(g.Gone, f.Gone)
	}
	if len(g.Looked) == 0 {
		return
	}
	scale := float64(g.WithData) / float64(len(g.Looked))
	for r := range g.Stored {
		g.Stored[r].scale(scale)
	}
	g.Move.scale(scale)
	g.Go.scale(scale)
}

func (a *Amount) scale(by float64) {
	a.Samples = int64(math.Round(float64(a.Samples) * by))
	a.Bytes = int64(math.Round(float64(a.Bytes) * by))
}
