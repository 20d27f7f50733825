package seal

import (
	"context"
	"math"
	"slices"
	"sort"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// carryBytes is the largest value that is copied into each bucket.
const carryBytes = 16 << 10

// carrying is what a series knows of carried-forward samples.
type carrying struct {
	carriedForward int64 // start of the latest bucket that has its carried-forward sample
	of             int64 // the time of that sample
	begun          int64 // start of the latest bucket that has anything
	unsure         bool  // others may have sealed samples, or begun buckets
	behind         []behind
}

// behind is a run in which buckets may have begun that have no block of it, or after it:
// what they begin with may be older than the samples from some one on, or than a part
// of them.
type behind struct {
	run  *sample.Run
	from int
}

// restart forgets which buckets have a carried-forward sample.
func (c *carrying) restart() { c.carriedForward = math.MinInt64 }

// bare is a carried-forward block without its value, which is large, on a tier where the block
// that has it expires before the carried-forward one does.
type bare struct {
	key  store.BlockKey
	time int64 // of the sample
}

// toCarry returns sample i of a run as it is copied into buckets: without its value if
// that is large.
func toCarry(r *sample.Run, i int) sample.Sample {
	c := r.At(i)
	if len(c.Bytes) > carryBytes {
		c.Bytes = nil
		c.Tag |= sample.Elsewhere
	}
	c.Bytes = slices.Clone(c.Bytes)
	return c
}

// carry returns the block with which a bucket begins, unless it has one: a copy
// of the last sample before it, which End is the time of. A large value is left out:
// readers follow the time to it. Where it would expire before the copy, fill adds it.
func (s *series) carry(b store.Bucket) []store.Block {
	s.begun = max(s.begun, b.Start())
	if s.lastType == sample.Unknown || s.last.Time >= b.Start() || s.carriedForward > b.Start() || s.carriedForward == b.Start() && s.of >= s.last.Time {
		return nil
	}
	s.carriedForward, s.of = b.Start(), s.last.Time
	r := &sample.Run{Type: s.lastType}
	r.Append(&s.last)
	return []store.Block{s.carryInto(b, r)}
}

// carryInto returns the block that carries a sample, a run of one, into a bucket.
func (s *series) carryInto(b store.Bucket, r *sample.Run) store.Block {
	r.Tags[0] |= sample.CarriedForward
	key := s.newKey(b, b.Start())
	if r.Tags[0]&sample.Elsewhere != 0 && b.Tier() != store.Forever {
		s.bare = append(s.bare, bare{key, r.Times[0]})
	}
	return carriedForwardBlock(key, r)
}

// carriedForwardBlock returns a block of one carried-forward sample.
func carriedForwardBlock(key store.BlockKey, r *sample.Run) store.Block {
	nan := math.NaN()
	return store.Block{BlockKey: key, End: r.Times[0], Type: r.Type, Min: nan, Max: nan, Sum: nan, Blob: block.Append(nil, r)}
}

// noteLate keeps a run if buckets may have begun after its first sample that is kept.
func (s *series) noteLate(r *sample.Run, now int64) {
	from := sort.Search(r.Len(), func(i int) bool { return !expired(s.bucket(r.Times[i]), now) })
	if from < r.Len() && (s.unsure || r.Times[from] < s.begun) {
		s.behind = append(s.behind, behind{r, from})
	}
}

// doubt has all series look into the store again: another sealer was at work.
func (s *Shard) doubt() {
	for _, ser := range s.series {
		ser.unsure = true
	}
}

// carryLate carries samples that came late into the buckets that had begun after them
// with an older one. It comes after their blocks were acknowledged, and before memory
// gives them up.
func (s *Shard) carryLate(ctx context.Context, parts []part, now int64) error {
	var todo []*series
	for _, p := range parts {
		if ser := s.series[p.pv]; len(ser.behind) > 0 && !slices.Contains(todo, ser) { // a PV has a part of each type
			todo = append(todo, ser)
		}
	}
	err := s.insist(ctx, "carrying late samples", func() error {
		return inParallel(ctx, todo, func(ctx context.Context, ser *series) error {
			if err := s.refresh(ctx, ser); err != nil {
				return err
			}
			for ; len(ser.behind) > 0; ser.behind = ser.behind[1:] {
				if err := s.carryOn(ctx, ser, ser.behind[0], now); err != nil {
					return err
				}
			}
			return nil
		})
	})
	for _, p := range parts {
		s.series[p.pv].unsure = false
	}
	return err
}

// carryOn carries samples into the buckets that begin after them, each that of a run
// which is the last one before it.
func (s *Shard) carryOn(ctx context.Context, ser *series, late behind, now int64) error {
	type tiers struct {
		size store.BucketSize
		tier store.Tier
	}
	done := map[tiers]int{} // buckets that begin after the sample of this number, plus 1, lack nothing
	for b := range store.InUse(ser.known.Starts, now, max(now, ser.begun)) {
		of := tiers{b.Size(), b.Tier()}
		n := sort.Search(late.run.Len(), func(i int) bool { return late.run.Times[i] >= b.Start() })
		if n <= late.from || done[of] == n {
			continue
		}
		lacks, last, err := s.beginning(ctx, ser.pv, b, late.run.Times[n-1])
		if err != nil {
			return err
		}
		if lacks {
			c := toCarry(late.run, n-1)
			r := &sample.Run{Type: late.run.Type}
			r.Append(&c)
			if err := s.cfg.Store.PutBlocks(ctx, ser.carryInto(b, r)); err != nil {
				return err
			}
		}
		if last {
			done[of] = n
		}
	}
	return nil
}

// beginning reports whether a bucket begins with a carried-forward sample older than some time,
// and whether no bucket after it can, as this one has samples, or a later carried-forward one.
// Of a bucket that has none, readers look at those before.
func (s *Shard) beginning(ctx context.Context, pv string, b store.Bucket, t int64) (lacks, last bool, err error) {
	for blk, err := range s.cfg.Store.Blocks(ctx, pv, b, math.MinInt64, b.End()-1) {
		switch {
		case err != nil:
			return false, false, err
		case blk.Count > 0:
			last = true
		case blk.End >= t:
			return false, true, nil
		default:
			lacks = true
		}
		if blk.Start > b.Start() { // carried-forward ones come first
			break
		}
	}
	return lacks, last, nil
}
