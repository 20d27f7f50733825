package migration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// life is the latest sign of life of a leader, and when it came.
type life struct {
	writer store.WriterID
	sign   int64
	seen   time.Time
}

// watch waits for engines to seal segments, and publishes old ones, until the import ends.
func (j *journaled) watch() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-j.ctx.Done():
			j.abandon(context.Cause(j.ctx))
			return
		}
		for _, q := range j.allQueues() {
			if q.publishOld() != nil {
				break
			}
		}
		j.mu.Lock()
		shards := slices.Sorted(maps.Keys(j.unsealed))
		j.mu.Unlock()
		for _, shard := range shards {
			if j.look(shard) != nil {
				break
			}
		}
	}
}

// look finds out which segments of a shard are sealed.
func (j *journaled) look(shard int) error {
	j.mu.Lock()
	segments := slices.Clone(j.unsealed[shard]) // before the claims are read
	j.mu.Unlock()
	var claims []store.Claim
	if err := j.retry("reading claims", func(ctx context.Context) (err error) {
		claims, err = j.store.Claims(ctx, shard)
		return err
	}); err != nil {
		return err
	}
	sealed, rest := 0, segments[:0:0]
	for _, g := range segments {
		// An engine drops a closed claim only when all rows up to its last one are sealed, or have expired.
		i := slices.IndexFunc(claims, func(c store.Claim) bool { return c.Writer == g.writer })
		if i >= 0 && claims[i].Sealed < g.last {
			rest = append(rest, g)
			continue
		}
		if err := j.settle(g); err != nil {
			return err
		}
		sealed++
	}
	if sealed == 0 {
		return j.checkLeader(shard, claims)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lives[shard] = life{seen: time.Now()}
	rest = append(rest, j.unsealed[shard][len(segments):]...) // those that were published meanwhile
	if j.unsealed[shard] = rest; len(rest) == 0 {
		delete(j.unsealed, shard)
		delete(j.lives, shard)
	}
	j.all -= j.bytes[shard]
	j.bytes[shard] = 0
	for _, g := range rest {
		j.bytes[shard] += g.bytes
	}
	j.all += j.bytes[shard]
	j.notify()
	return nil
}

// checkLeader ends the import if a shard has had no leader for long.
func (j *journaled) checkLeader(shard int, claims []store.Claim) error {
	l, known := j.lives[shard]
	if !known {
		l.seen = time.Now()
	}
	if c := leader(claims); c != nil && (c.Writer != l.writer || c.Alive != l.sign) {
		l = life{writer: c.Writer, sign: c.Alive, seen: time.Now()}
	}
	j.lives[shard] = l
	if time.Since(l.seen) < leaderPatience {
		return nil
	}
	return j.fail(fmt.Errorf("%w: shard %d has had no engine for %v; its last samples are in the journal, which keeps them for %v: "+
		"start the engines, then repeat the import", ErrNoLeader, shard, leaderPatience, j.ttl))
}

// leader returns the claim of the engine that seals a shard, or nil. The engine may be dead.
func leader(claims []store.Claim) (found *store.Claim) {
	for i := range claims {
		if c := &claims[i]; !c.Closed && c.Sealing >= store.FirstTerm && (found == nil || c.Sealing > found.Sealing) {
			found = c
		}
	}
	return found
}

// awaitLeaders returns an error unless an engine seals each of the shards: two reads of its claim differ.
func (j *journaled) awaitLeaders(shards []int) error {
	began, signs := time.Now(), map[int]life{}
	for len(shards) > 0 {
		var without []int
		for _, shard := range shards {
			var claims []store.Claim
			if err := j.retry("reading claims", func(ctx context.Context) (err error) {
				claims, err = j.store.Claims(ctx, shard)
				return err
			}); err != nil {
				return err
			}
			c, was := leader(claims), signs[shard]
			if c != nil {
				signs[shard] = life{writer: c.Writer, sign: c.Alive}
			}
			if c == nil || c.Writer != was.writer || c.Alive == was.sign {
				without = append(without, shard)
			}
		}
		if shards = without; len(shards) == 0 {
			return nil
		}
		if time.Since(began) > leaderWait {
			return j.fail(fmt.Errorf("%w: %d shards of the archive have no engine, the first is shard %d: start the engines of this archive, then repeat the import",
				ErrNoLeader, len(shards), shards[0]))
		}
		select {
		case <-time.After(lookEvery):
		case <-j.ctx.Done():
			return context.Cause(j.ctx)
		}
	}
	return nil
}

// outcome is what became of the samples of a PV in a segment.
type outcome struct {
	stored, expired, deleted uint64
	err                      error
}

// limits say which samples of a PV the engines may have left out.
type limits struct {
	kept    int64 // samples before this time may have been too old, in ns since 1970
	deleted store.Mask
}

// settle finds out what became of the samples of a sealed segment, and tells the PVs' accounts.
func (j *journaled) settle(g *segment) error {
	cutoff, unsure := int64(math.MinInt64), map[*account]limits{}
	if err := j.retry("reading the deletion cutoff", func(ctx context.Context) error {
		c, found, err := j.store.Cutoff(ctx)
		if found {
			cutoff = c.Before
		}
		return err
	}); err != nil {
		return err
	}
	for a, e := range g.parts {
		l, err := j.limits(a.pv)
		if err != nil {
			return err
		}
		if e.first < max(l.kept, cutoff) || l.deleted.Overlaps(e.first, e.last) {
			unsure[a] = l
		}
	}
	missing, damaged, err := j.missing(g, unsure)
	if err != nil {
		return err
	}
	for a, e := range g.parts {
		o := outcome{stored: uint64(e.samples), err: damaged[a]}
		if o.err != nil { // it is unknown how many samples are stored
			o.stored = 0
		}
		for _, at := range missing[a] {
			o.stored--
			switch {
			case at < cutoff:
				o.deleted++
			case at < unsure[a].kept || unsure[a].deleted.Hides(at):
				o.expired++
			default:
				o.err = cmp.Or(o.err, fmt.Errorf("%s: a sample at %s was sealed, but the archive does not return it", a.pv, time.Unix(0, at).UTC().Format(time.RFC3339Nano)))
			}
		}
		j.waiting.Add(-int64(e.samples))
		a.settle(&o)
	}
	return nil
}

// limits returns which samples of a PV the engines may have left out.
func (j *journaled) limits(pv string) (l limits, err error) {
	var c store.Channel
	err = j.retry("reading the directory", func(ctx context.Context) (err error) {
		c, _, err = j.store.Channel(ctx, pv)
		return err
	})
	l = limits{kept: math.MinInt64, deleted: c.Mask()}
	for _, b := range c.Starts {
		if r := b.Tier(); r.Valid() && r != store.Forever { // a bucket expires as a whole
			l.kept = max(l.kept, j.now()-int64(r.Keep()))
		}
	}
	return l, err
}

// missing returns the times of the samples in a sealed segment that the archive does not return, for some PVs. For a PV
// with damaged blocks it returns an error instead.
func (j *journaled) missing(g *segment, pvs map[*account]limits) (times map[*account][]int64, damaged map[*account]error, err error) {
	times, damaged = map[*account][]int64{}, map[*account]error{}
	if len(pvs) == 0 {
		return times, damaged, nil
	}
	accounts := map[string]*account{}
	for a := range pvs {
		accounts[a.pv] = a
	}
	r := &query.Reader{Store: blocksOnly{j.store}, Shards: 1, Now: j.now}
	err = j.retry("reading sealed samples", func(ctx context.Context) error {
		clear(times)
		clear(damaged)
		for row, err := range j.store.Journal(ctx, g.shard, g.writer, 0, g.last) {
			if err != nil {
				return err
			}
			runs, err := journal.Decode(row)
			if err = cmp.Or(row.Damage, err); err != nil {
				return err
			}
			for _, of := range runs {
				a := accounts[of.PV]
				if a == nil || damaged[a] != nil {
					continue
				}
				rest, err := absent(ctx, r, a.pv, of.Run)
				if bad := (*scan.Damaged)(nil); errors.As(err, &bad) {
					damaged[a] = fmt.Errorf("it is unknown which samples of a segment the archive has stored: %w", err)
					delete(times, a)
					continue
				}
				if err != nil {
					return err
				}
				times[a] = append(times[a], rest.Times...)
			}
		}
		return nil
	})
	return times, damaged, err
}

// absent returns the samples of a sorted run that the archive does not have.
func absent(ctx context.Context, r *query.Reader, pv string, run *sample.Run) (*sample.Run, error) {
	has, err := r.Read(ctx, pv, run.Times[0], run.Times[run.Len()-1], query.Options{Inside: true})
	if errors.Is(err, query.ErrUnknownPV) {
		return run, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", pv, err)
	}
	present, next := make([]bool, run.Len()), 0
	for o, err := range has.All {
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", pv, err)
		}
		if o.Type == run.Type {
			next = markPresent(present, run, o, next, nil)
		}
	}
	rest := &sample.Run{Type: run.Type}
	for from := 0; from < run.Len(); {
		to := from
		for to < run.Len() && !present[to] {
			to++
		}
		rest.AppendRange(run, from, to)
		from = to + 1
	}
	return rest, nil
}

// blocksOnly is a store of which a reader sees blocks only.
type blocksOnly struct{ store.Store }

// Claims implements store.Store.
func (blocksOnly) Claims(context.Context, int) ([]store.Claim, error) { return nil, nil }

// endedOnly is a store of which a reader sees blocks, and the rows of writers that have ended, such as imports.
type endedOnly struct{ store.Store }

// Claims implements store.Store.
func (e endedOnly) Claims(ctx context.Context, shard int) ([]store.Claim, error) {
	claims, err := e.Store.Claims(ctx, shard)
	return slices.DeleteFunc(claims, func(c store.Claim) bool { return !c.Closed }), err
}
