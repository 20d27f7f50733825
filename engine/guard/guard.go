package guard

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/store"
)

// Store is what a guard needs of a store.
type Store interface {
	Size(ctx context.Context) (int64, error)
	Limit(ctx context.Context) (int64, error)
	PutCutoff(ctx context.Context, f store.Cutoff) error
	Cutoff(ctx context.Context) (f store.Cutoff, found bool, err error)
	PutCutoffProgress(ctx context.Context, s store.CutoffProgress) error
	CutoffProgress(ctx context.Context) ([]store.CutoffProgress, error)
	Claims(ctx context.Context, shard int) ([]store.Claim, error)
	Channels(ctx context.Context) iter.Seq2[store.Channel, error]
}

// Reclaimer is a Store that has to be told to make room that was given up free.
type Reclaimer interface {
	// Reclaim may take long.
	Reclaim(ctx context.Context) error
}

// Sealer gives up blocks of a PV, in buckets that end after one time and at or before
// another. It may be called for any PV.
type Sealer interface {
	DropBefore(ctx context.Context, c store.Channel, after, cutoff int64) (buckets int, bytes int64, err error)
}

// Config of a Guard.
type Config struct {
	Store Store
	// Limits to keep to. Without Bytes the store is asked for a limit.
	Limits Limits
	// Shards is the number of shards of the archive, without those for PVs that two
	// engines capture, of which there may be as many.
	Shards int
	// Every is the time between two looks; default 1 min.
	Every time.Duration
	// Engine is the one that this guard is of.
	Engine store.WriterID
	// Sealers returns those of the shards that this engine seals now.
	Sealers func() map[int]Sealer
	// Captured returns the shard for which this engine captures a PV.
	Captured func(pv string) (shard int, captured bool)
	// Reclaim is what an administrator can do to have room that was given up become free;
	// empty: it does by itself.
	Reclaim    string
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Status is what a guard does.
type Status struct {
	// Reason is empty while another engine decides.
	Reason  Reason
	Message string
	// Text is of the message what the figures do not tell: why nothing can be done, or
	// what an administrator can do.
	Text string
	// Size, Limit and Waiting are in bytes; Cutoff is in ns since 1970, 0 for none.
	Size, Limit, Waiting, Cutoff int64
}

// Guard is the disk guard of an engine. Run is its only goroutine.
type Guard struct {
	cfg     Config
	metrics *metrics
	cutoff  atomic.Int64
	last    taken
	// lastLimit is the last answer of the servers; nil: they have not answered yet.
	lastLimit *int64

	mu     sync.Mutex
	status Status
}

// taken is the latest step that this engine took.
type taken struct {
	from, to int64 // cutoffs
	given    int64 // by all shards before
}

// New returns a guard that does nothing yet.
func New(cfg Config) *Guard {
	cfg.Limits.setDefaults()
	cfg.Every = cmp.Or(cfg.Every, time.Minute)
	g := &Guard{cfg: cfg, metrics: newMetrics(cfg.Registerer)}
	g.cutoff.Store(math.MinInt64)
	return g
}

// Cutoff returns the time, in ns since 1970, before which raw samples are given up; the
// least number if none are.
func (g *Guard) Cutoff() int64 { return g.cutoff.Load() }

// Status returns what the guard does.
func (g *Guard) Status() Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.status
}

// Run inspects the archive once per Config.Every, until ctx ends.
func (g *Guard) Run(ctx context.Context) {
	tick := time.NewTicker(g.cfg.Every)
	defer tick.Stop()
	for {
		if err := g.Look(ctx); err != nil && ctx.Err() == nil {
			g.metrics.failures.Inc()
			g.cfg.Log.Warn("inspecting the archive for the disk guard failed; it retries", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Look follows the present cutoff, and decides about the next one if this engine seals shard 0.
func (g *Guard) Look(ctx context.Context) error {
	f, found, err := g.cfg.Store.Cutoff(ctx)
	if err != nil {
		return err
	}
	sealers := g.cfg.Sealers()
	_, decides := sealers[0]
	if !found && !decides {
		g.setStatus(Status{})
		return nil
	}
	shardProgress, err := g.cfg.Store.CutoffProgress(ctx)
	if err != nil {
		return err
	}
	if found {
		g.publish(f.Before)
		if shardProgress, err = g.follow(ctx, f.Before, sealers, shardProgress); err != nil {
			return err
		}
	}
	if !decides {
		g.setStatus(Status{Cutoff: f.Before})
		return nil
	}
	return g.decide(ctx, f, shardProgress)
}

// publish makes the cutoff known to sealers before anything is deleted, so that they write
// nothing before it afterwards.
func (g *Guard) publish(cutoff int64) {
	if cutoff > g.cutoff.Load() {
		g.cutoff.Store(cutoff)
		g.metrics.cutoff.Set(float64(cutoff) / 1e9)
	}
}

// decide compares the size with the limit, and raises the cutoff if necessary.
func (g *Guard) decide(ctx context.Context, f store.Cutoff, shardProgress []store.CutoffProgress) error {
	limits := g.cfg.Limits
	var size int64
	var err error
	if limits.Bytes == 0 {
		limits.Bytes, err = g.limit(ctx)
	}
	if err == nil && limits.Bytes > 0 {
		size, err = g.cfg.Store.Size(ctx)
	}
	if err != nil {
		g.setStatus(Status{
			Reason: SizeUnknown, Text: err.Error(), Limit: limits.Bytes, Cutoff: f.Before,
			Message: "nothing is deleted because the size of the archive is not known: " + err.Error(),
		})
		return nil
	}
	s := State{Cutoff: f, Begins: math.MaxInt64} // until it is of interest
	if f.Before != 0 {
		s.Begins = f.Before
		if s.Behind, err = g.behind(ctx, f.Before, shardProgress); err != nil {
			return err
		}
	}
	for _, sp := range shardProgress {
		s.Given += sp.Bytes
	}
	if g.last.to == f.Before && g.last.to != 0 {
		s.Last = Step{Length: time.Duration(g.last.to - g.last.from), Bytes: s.Given - g.last.given}
	}
	d := Decide(s, limits, size, time.Now())
	if f.Before == 0 && d.Reason == NothingLeft {
		if s.Begins, err = g.begins(ctx); err != nil {
			return err
		}
		d = Decide(s, limits, size, time.Now())
	}
	return g.act(ctx, &s, &d, limits.Bytes, size)
}

// limit returns the limit of the store's servers, or their last answer if they do not answer.
func (g *Guard) limit(ctx context.Context) (int64, error) {
	n, err := g.cfg.Store.Limit(ctx)
	switch {
	case err == nil:
		g.lastLimit = &n
	case g.lastLimit != nil:
		return *g.lastLimit, nil
	}
	return n, err
}

// act carries out a decision.
func (g *Guard) act(ctx context.Context, s *State, d *Decision, limit, size int64) error {
	st := Status{Reason: d.Reason, Size: size, Limit: limit, Waiting: d.Waiting, Cutoff: d.Cutoff.Before}
	if d.Raised {
		d.Cutoff.By = g.cfg.Engine
		g.last = taken{from: max(s.Begins, s.Cutoff.Before), to: d.Cutoff.Before, given: s.Given}
		g.metrics.rounds.Inc()
		g.cfg.Log.Warn("the disk guard deletes the oldest raw samples because the archive is near its size limit", "before", when(d.Cutoff.Before),
			"size", size, "limit", limit, "need", d.Need, "waiting", d.Waiting)
	}
	if st.Message = g.message(s, d, limit, size); d.Reason == WaitingForRoom {
		st.Text = g.cfg.Reclaim
	}
	waited := g.Status().Reason == WaitingForRoom
	g.setStatus(st)
	if d.Cutoff.Before != 0 && d.Cutoff != s.Cutoff {
		if err := g.cfg.Store.PutCutoff(ctx, d.Cutoff); err != nil {
			return fmt.Errorf("raising the cutoff: %w", err)
		}
		g.publish(d.Cutoff.Before)
	}
	if st.Reason == WaitingForRoom && !waited {
		return g.reclaim(ctx)
	}
	return nil
}

// reclaim makes the store free disk space, once enough was deleted.
func (g *Guard) reclaim(ctx context.Context) error {
	r, ok := g.cfg.Store.(Reclaimer)
	if !ok {
		return nil
	}
	begun := time.Now()
	if err := r.Reclaim(ctx); err != nil {
		return fmt.Errorf("freeing disk space: %w", err)
	}
	g.cfg.Log.Info("the store has freed disk space", "took", time.Since(begun).Round(time.Millisecond).String())
	return nil
}

func (g *Guard) message(s *State, d *Decision, limit, size int64) string {
	cutoff, use := "", fmt.Sprintf("the archive takes %s of %s", inBytes(size), inBytes(limit))
	if d.Cutoff.Before != 0 {
		cutoff = "; raw samples before " + when(d.Cutoff.Before) + " are deleted"
	}
	switch d.Reason {
	case NoLimit:
		return "no limit is set" + cutoff
	case BelowLimit:
		return use + cutoff
	case WaitingForRoom:
		m := use + cutoff + fmt.Sprintf("; waiting for %s of deleted samples to become free", inBytes(d.Waiting))
		if g.cfg.Reclaim != "" {
			m += ": " + g.cfg.Reclaim
		}
		return m
	case NothingLeft:
		return use + cutoff + "; what is left is younger than " + g.cfg.Limits.Youngest.String() + ", and stays"
	}
	if s.Behind > 0 {
		cutoff += fmt.Sprintf("; %d of %d shards have not followed yet", s.Behind, g.cfg.Shards)
	}
	return use + cutoff
}

// setStatus sets the status, and logs a change of its reason.
func (g *Guard) setStatus(st Status) {
	g.mu.Lock()
	was := g.status
	g.status = st
	g.mu.Unlock()
	g.metrics.size.Set(float64(st.Size))
	g.metrics.limit.Set(float64(st.Limit))
	g.metrics.waiting.Set(float64(st.Waiting))
	log := g.cfg.Log.Warn
	switch {
	case was.Reason == st.Reason, st.Reason == "", st.Reason == Dropping: // each step is logged
		return
	case st.Reason == BelowLimit, st.Reason == NoLimit:
		if log = g.cfg.Log.Info; was.Reason == "" {
			return
		}
	}
	log("the disk guard: "+string(st.Reason), "state", st.Message)
}

// behind returns how many shards have not followed a cutoff: of those of the archive, and of
// as many that are for PVs which two engines capture, and count if somebody seals them.
func (g *Guard) behind(ctx context.Context, cutoff int64, shardProgress []store.CutoffProgress) (n int, err error) {
	followed := map[int]bool{}
	for _, sp := range shardProgress {
		followed[sp.Shard] = sp.Cutoff >= cutoff
	}
	for shard := range 2 * g.cfg.Shards {
		counts := !followed[shard]
		if counts && shard >= g.cfg.Shards {
			if counts, err = g.isSealed(ctx, shard); err != nil {
				return 0, err
			}
		}
		if counts {
			n++
		}
	}
	return n, nil
}

// isSealed reports whether an engine says that it seals a shard.
func (g *Guard) isSealed(ctx context.Context, shard int) (bool, error) {
	claims, err := g.cfg.Store.Claims(ctx, shard)
	return slices.ContainsFunc(claims, func(c store.Claim) bool { return !c.Closed && c.Sealing >= store.FirstTerm }), err
}

// begins returns the start of the oldest bucket that the directory has, and that is not
// expired.
func (g *Guard) begins(ctx context.Context) (int64, error) {
	now, first := time.Now().UnixNano(), int64(math.MaxInt64)
	for c, err := range g.cfg.Store.Channels(ctx) {
		if err != nil {
			return 0, err
		}
		for _, b := range c.Starts {
			if !b.Tier().Valid() || !b.Size().Valid() {
				continue
			}
			t := b.Start()
			if b.Tier() != store.Forever {
				t = max(t, b.Size().Of(now-int64(b.Tier().Keep())).Start())
			}
			first = min(first, t)
		}
	}
	return first, nil
}

func when(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }

// inBytes returns a size for people.
func inBytes(n int64) string {
	const unit = 1024
	f, names := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for ; f >= unit && i < len(names)-1; i++ {
		f /= unit
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, names[i])
}
