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

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/store"
)

// Store lists the store methods that a guard needs.
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

// Reclaimer is a Store that frees deleted space only on request.
type Reclaimer interface {
	// Reclaim frees the space. It may take a long time.
	Reclaim(ctx context.Context) error
}

// Sealer deletes the blocks of a PV in buckets that end after one time and at or before
// another. It accepts any PV.
type Sealer interface {
	DropBefore(ctx context.Context, c store.Channel, after, cutoff int64) (buckets int, bytes int64, err error)
}

// Config configures a Guard.
type Config struct {
	Store Store
	// Limits are the limits to enforce. If Bytes is 0, the guard asks the store for a limit.
	Limits Limits
	// Shards is the number of shards of the archive, without the shards for PVs that two
	// engines capture. The archive may have as many such shards in addition.
	Shards int
	// Clock says how late it may be, so that a wrong clock deletes no young samples. If it is nil,
	// the clock is right.
	Clock *clock.Clock
	// Every is the time between two inspections; the default is 1 min.
	Every time.Duration
	// Engine is the writer ID of the engine that runs this guard.
	Engine store.WriterID
	// Sealers returns the sealers of the shards that this engine seals now.
	Sealers func() map[int]Sealer
	// Captured returns the shard for which this engine captures a PV.
	Captured func(pv string) (shard int, captured bool)
	// Reclaim says how an administrator can free deleted space. It is empty if the space
	// becomes free automatically.
	Reclaim    string
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Status is the current status of a guard.
type Status struct {
	// Reason is empty while another engine decides.
	Reason  Reason
	Message string
	// Text is the part of the message that the figures do not show: why nothing can be done,
	// or what an administrator can do.
	Text string
	// Size, Limit and Waiting are in bytes. Cutoff is in ns since 1970, or 0 if there is none.
	Size, Limit, Waiting, Cutoff int64
}

// Guard is the disk guard of an engine. Run is its only goroutine.
type Guard struct {
	cfg     Config
	metrics *metrics
	cutoff  atomic.Int64
	last    taken
	sizes   sizes
	// lastLimit is the latest limit that the servers returned, or nil before the first answer.
	lastLimit *int64

	mu     sync.Mutex
	status Status
}

// taken is the latest step of this engine.
type taken struct {
	from, to int64 // cutoffs
	deleted  int64 // deleted by all shards before the step
}

// New returns a guard. Run starts its work.
func New(cfg Config) *Guard {
	cfg.Limits.setDefaults()
	cfg.Every = cmp.Or(cfg.Every, time.Minute)
	if cfg.Clock == nil {
		cfg.Clock = clock.New(clock.Config{})
	}
	g := &Guard{cfg: cfg, metrics: newMetrics(cfg.Registerer)}
	g.cutoff.Store(math.MinInt64)
	return g
}

// Cutoff returns the time, in ns since 1970, before which raw samples are deleted. It returns
// the smallest int64 if there is no cutoff.
func (g *Guard) Cutoff() int64 { return g.cutoff.Load() }

// Status returns the guard's status.
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
		if err := g.Check(ctx); err != nil && ctx.Err() == nil {
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

// Check follows the current cutoff. If this engine seals shard 0, it also decides about the
// next one.
func (g *Guard) Check(ctx context.Context) error {
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

// publish passes the cutoff to the sealers before anything is deleted, so that they write
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
	s := State{Cutoff: f, Begins: math.MaxInt64} // replaced below once the value is needed
	if f.Before != 0 {
		s.Begins = f.Before
		if s.Behind, err = g.behind(ctx, f.Before, shardProgress); err != nil {
			return err
		}
	}
	for _, sp := range shardProgress {
		s.Deleted += sp.Bytes
	}
	if limits.Bytes > 0 {
		settled := false
		size, settled = g.sizes.add(size, limits.Readings, time.Now())
		s.Unsettled, s.Left = !settled, g.sizes.left(size, limits.high())
	}
	if g.last.to == f.Before && g.last.to != 0 {
		s.Last = Step{Length: time.Duration(g.last.to - g.last.from), Bytes: s.Deleted - g.last.deleted}
	}
	d := Decide(s, limits, size, g.now())
	if f.Before == 0 && d.Reason == NothingLeft {
		if s.Begins, err = g.begins(ctx); err != nil {
			return err
		}
		d = Decide(s, limits, size, g.now())
	}
	return g.act(ctx, &s, &d, limits.Bytes, size)
}

// now returns the earliest time that it may be.
func (g *Guard) now() time.Time { return time.Unix(0, g.cfg.Clock.Earliest()) }

// limit returns the limit of the store's servers. If they do not answer, it returns their last
// answer.
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
		g.last = taken{from: max(s.Begins, s.Cutoff.Before), to: d.Cutoff.Before, deleted: s.Deleted}
		g.metrics.rounds.Inc()
		g.sizes.forget()
		g.cfg.Log.Warn("the disk guard deletes the oldest raw samples because the archive is near its size limit", "before", when(d.Cutoff.Before),
			"size", size, "limit", limit, "need", d.Need, "waiting", d.Waiting)
	}
	st.Message = g.message(s, d, limit, size)
	switch d.Reason {
	case WaitingForRoom:
		st.Text = g.cfg.Reclaim
	case NearLimit:
		st.Text = inDays(s.Left)
	case NothingLeft:
		st.Text = inDays(g.cfg.Limits.Youngest)
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

// reclaim makes the store free disk space after enough was deleted.
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
	case NearLimit:
		return use + cutoff + "; at the present growth the guard begins to delete raw samples in about " + inDays(s.Left)
	case Measuring:
		return use + cutoff + "; the guard measures the size for some minutes before it deletes raw samples"
	case OnlyWarning:
		return use + cutoff + "; the guard deletes nothing because it is set to warn only"
	case NothingLeft:
		return use + cutoff + "; all remaining raw samples are younger than " + g.cfg.Limits.Youngest.String() + " and stay"
	}
	if s.Behind > 0 {
		cutoff += fmt.Sprintf("; %d of %d shards have not deleted up to the cutoff yet", s.Behind, g.cfg.Shards)
	}
	return use + cutoff
}

// setStatus sets the status and logs a change of its reason.
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
	case st.Reason == BelowLimit, st.Reason == NoLimit, st.Reason == Measuring:
		if log = g.cfg.Log.Info; was.Reason == "" {
			return
		}
	}
	log("the disk guard: "+string(st.Reason), "state", st.Message)
}

// behind returns the number of shards that have not followed a cutoff. The shards for PVs that
// two engines capture count only if an engine seals them.
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

// isSealed reports whether a claim in the store says that an engine seals the shard.
func (g *Guard) isSealed(ctx context.Context, shard int) (bool, error) {
	claims, err := g.cfg.Store.Claims(ctx, shard)
	return slices.ContainsFunc(claims, func(c store.Claim) bool { return !c.Closed && c.Sealing >= store.FirstTerm }), err
}

// begins returns the start of the oldest bucket in the directory that has not expired.
func (g *Guard) begins(ctx context.Context) (int64, error) {
	now, first := g.cfg.Clock.Earliest(), int64(math.MaxInt64)
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

// inDays formats a duration for people.
func inDays(d time.Duration) string {
	switch days := d.Round(12*time.Hour).Hours() / 24; {
	case days < 1:
		return fmt.Sprintf("%d hours", max(1, int(d.Hours())))
	case days == 1:
		return "1 day"
	default:
		return fmt.Sprintf("%.3g days", days)
	}
}

func when(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }

// inBytes formats a size for people.
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
