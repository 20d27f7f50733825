package seal

import (
	"context"
	"math"
	"slices"
	"sort"

	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// carryBytes is the size of the largest value that is copied into each bucket.
const carryBytes = 16 << 10

// carrying holds what a series knows about carried-forward samples.
type carrying struct {
	carriedForward int64 // start of the latest bucket that has its carried-forward sample
	carriedTime    int64 // the time of that sample
	begun          int64 // start of the latest bucket that has any block
	unsure         bool  // other sealers may have sealed samples, or begun buckets
	late           []lateRun
	// filled has the buckets with blocks while no other process writes: see Importer. It is nil if the
	// buckets are unknown.
	filled map[store.Bucket]bool
}

// lateRun is a run whose samples, from the index from on, may be later than the samples that
// existing buckets carry forward.
type lateRun struct {
	run  *sample.Run
	from int
}

// restart forgets which buckets have a carried-forward sample.
func (c *carrying) restart() { c.carriedForward = math.MinInt64 }

// valueless is a carried-forward block without its large value, on a tier on which the block
// with the value expires first.
type valueless struct {
	key  store.BlockKey
	time int64 // of the sample
}

// toCarry returns sample i of a run in the form in which buckets carry it forward. The form
// leaves out a large value.
func toCarry(r *sample.Run, i int) sample.Sample {
	c := r.At(i)
	if len(c.Bytes) > carryBytes {
		c.Bytes = nil
		c.Tag |= sample.Elsewhere
	}
	c.Bytes = slices.Clone(c.Bytes)
	return c
}

// carry returns the block with which a bucket begins: a copy of the last sample before the
// bucket. It returns nothing if the bucket already has such a block. The End of the block is
// the time of that sample. The copy leaves out a large value, which readers find by the time
// of the sample. If the value would expire before the copy, fillValues adds it.
func (s *series) carry(b store.Bucket) []store.Block {
	s.begun = max(s.begun, b.Start())
	if s.lastType == sample.Unknown || s.last.Time >= b.Start() || s.carriedForward > b.Start() || s.carriedForward == b.Start() && s.carriedTime >= s.last.Time {
		return nil
	}
	s.carriedForward, s.carriedTime = b.Start(), s.last.Time
	r := &sample.Run{Type: s.lastType}
	r.Append(&s.last)
	return []store.Block{s.carryInto(b, r)}
}

// carryInto returns the block that carries a sample forward into a bucket. r is a run of this
// one sample.
func (s *series) carryInto(b store.Bucket, r *sample.Run) store.Block {
	r.Tags[0] |= sample.CarriedForward
	key := s.newKey(b, b.Start())
	if r.Tags[0]&sample.Elsewhere != 0 && b.Tier() != store.Forever {
		s.valueless = append(s.valueless, valueless{key, r.Times[0]})
	}
	return layout.EncodeCarriedForward(key, r)
}

// noteLate keeps a run in late if buckets may have begun after the run's first sample that has
// not expired.
func (s *series) noteLate(r *sample.Run, now int64) {
	from := sort.Search(r.Len(), func(i int) bool { return !layout.Expired(s.bucket(r.Times[i]), now) })
	if from < r.Len() && (s.unsure || r.Times[from] < s.begun) {
		s.late = append(s.late, lateRun{r, from})
	}
}

// rereadSeries makes all series read the store again, because another sealer has worked on
// the shard.
func (s *Shard) rereadSeries() {
	for _, ser := range s.series {
		ser.unsure = true
	}
}

// carryLate carries late samples forward into the buckets that began after them and carry an
// older sample forward. The caller calls it after the blocks of the samples are acknowledged,
// and before memory releases the samples. It returns the parts of the PVs for which it succeeded.
func (s *Shard) carryLate(ctx context.Context, parts []part, now int64) ([]part, error) {
	parts, err := s.eachPV(ctx, "carrying late samples", parts, func(ctx context.Context, pv string) error {
		ser := s.series[pv]
		if len(ser.late) == 0 {
			return nil
		}
		if err := ser.entry.Refresh(ctx, s.cfg.Store, pv, s.clock.Now().End); err != nil {
			return err
		}
		for len(ser.late) > 0 {
			if err := s.carryRun(ctx, ser, ser.late[0], now); err != nil {
				return err
			}
			ser.late = slices.Delete(ser.late, 0, 1) // late[1:] would keep all samples of the run in memory
		}
		return nil
	})
	for _, p := range parts {
		s.series[p.pv].unsure = false
	}
	return parts, err
}

// carryRun carries samples of a run forward into the buckets that begin after them. Each
// bucket gets the last sample of the run before the bucket.
func (s *Shard) carryRun(ctx context.Context, ser *series, late lateRun, now int64) error {
	type tiers struct {
		size store.BucketSize
		tier store.Tier
	}
	done := map[tiers]int{} // if done is n, later buckets need no copy of sample n-1
	for b := range store.InUse(ser.entry.Starts, now, max(s.clock.Now().Now, ser.begun)) {
		if ser.filled != nil && !ser.filled[b] {
			continue
		}
		of := tiers{b.Size(), b.Tier()}
		n := sort.Search(late.run.Len(), func(i int) bool { return late.run.Times[i] >= b.Start() })
		if n <= late.from || done[of] == n {
			continue
		}
		lacks, last, err := s.checkBeginning(ctx, ser.pv, b, late.run.Times[n-1])
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

// checkBeginning reports in lacks whether a bucket begins with a carried-forward sample older
// than t. last is true if no later bucket can begin with such a sample, because this bucket
// has samples or carries a later sample forward. If a bucket is empty, readers use the buckets
// before it.
func (s *Shard) checkBeginning(ctx context.Context, pv string, b store.Bucket, t int64) (lacks, last bool, err error) {
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
		if blk.Start > b.Start() { // carried-forward samples come first
			break
		}
	}
	return lacks, last, nil
}
