package query

import (
	"fmt"
	"slices"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

const (
	second = int64(1e9)
	day    = 86400 * second
	epoch  = 20454 * day // 2026-01-01
)

// scatter fills an archive with random samples in every place that can hold samples.
func (a *archive) scatter(sizes []store.BucketSize, span int64) {
	others := (home() + 1) % testShards
	a.directory(store.Channel{Shards: []int{home(), others}, Types: []sample.Type{sample.Float64, sample.String}})
	mem, dead := writer(100), writer(101)
	a.held = Held{Known: true, Covers: []store.WriterID{mem}}
	var history []typed // samples in blocks, which may be carried forward
	for range 60 {
		samples := a.some(span)
		switch a.rng.IntN(6) {
		case 0:
			a.held.Runs = append(a.held.Runs, run(samples))
			a.row(mem, home(), samples...) // covered, so the reader need not read it
		case 1:
			a.row(dead, home(), samples...)
		case 2:
			a.row(writer(102), others, samples...)
		default:
			a.scatterBlocks(sizes, samples)
			history = append(history, samples...)
		}
		if a.rng.IntN(3) == 0 { // written twice
			a.scatterBlocks(sizes, samples)
			history = append(history, samples...)
		}
		a.addToModel(samples...)
	}
	a.carryAll(sizes, history)
}

// some returns a few samples of one type. Some of them have the same time.
func (a *archive) some(span int64) []typed {
	t := sample.Float64
	if a.rng.IntN(5) == 0 {
		t = sample.String
	}
	at := epoch + a.rng.Int64N(span)
	var out []typed
	for range 1 + a.rng.IntN(40) {
		s := typed{t, sample.Sample{Time: at, Tag: sample.MakeTag(sample.Severity(a.rng.IntN(4)), 3)}}
		if t == sample.String {
			s.Bytes = fmt.Appendf(nil, "s%d", a.rng.IntN(3))
		} else {
			s.Word = a.rng.Uint64N(3)
		}
		out = append(out, s)
		at += a.rng.Int64N(3) * span / 500
	}
	return out
}

// scatterBlocks stores samples as blocks of a random writer, size and tier.
func (a *archive) scatterBlocks(sizes []store.BucketSize, samples []typed) {
	size, tier := sizes[a.rng.IntN(len(sizes))], a.tier()
	for from := 0; from < len(samples); {
		b := size.Of(samples[from].Time).In(tier)
		to := from + 1
		for to < len(samples) && size.Of(samples[to].Time).In(tier) == b && a.rng.IntN(10) > 0 {
			to++
		}
		a.block(writer(byte(a.rng.IntN(3))), b, samples[from:to]...)
		from = to
	}
}

// tier returns a random tier that keeps all samples.
func (a *archive) tier() store.Tier {
	return []store.Tier{store.Forever, store.Forever, store.Keep5y, store.Keep10y}[a.rng.IntN(4)]
}

// carryAll adds carried-forward copies to the start of buckets.
func (a *archive) carryAll(sizes []store.BucketSize, history []typed) {
	slices.SortStableFunc(history, func(x, y typed) int { return int(min(1, max(-1, x.Time-y.Time))) })
	for _, s := range history {
		b := sizes[a.rng.IntN(len(sizes))].Of(s.Time).In(a.tier())
		i := slices.IndexFunc(history, func(h typed) bool { return h.Time >= b.Start() })
		if i <= 0 {
			continue
		}
		last := history[i-1]
		last.Tag |= sample.CarriedForward
		a.block(writer(byte(a.rng.IntN(3))), b, last)
	}
}

// TestReadEqualsModel checks that a read yields each sample once and in order, regardless of
// where the samples are.
func TestReadEqualsModel(t *testing.T) { readArchives(t, 0, 1, 10) }

func TestLong_ReadEqualsModel(t *testing.T) { readArchives(t, 0, 5, 40) }

// readArchives compares reads of random archives with the model, for each seed from first to
// last-1. It reads each archive in a number of ranges, of four kinds.
func readArchives(t *testing.T, first, last uint64, ranges int) {
	cases := []struct {
		sizes []store.BucketSize
		span  int64
	}{
		{[]store.BucketSize{store.Hour}, day / 4},
		{[]store.BucketSize{store.Day}, 10 * day},
		{[]store.BucketSize{store.Hour, store.Day}, 3 * day},
		{[]store.BucketSize{store.Year}, 900 * day},
		{[]store.BucketSize{store.Day, store.Month, store.Year}, 100 * day},
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.sizes), func(t *testing.T) {
			for seed := first; seed < last; seed++ {
				a := newArchive(t, seed)
				a.now = epoch
				a.scatter(c.sizes, c.span)
				all := a.sorted()
				for range ranges {
					from := epoch - c.span/10 + a.rng.Int64N(c.span*6/5)
					a.expect(from, from+a.rng.Int64N(c.span))
					at := all[a.rng.IntN(len(all))].Time
					a.expect(at, at)
					a.expect(at-1, at+c.span/100)
					a.expect(at+1, at+1)
				}
				a.expect(epoch-day, epoch+3*c.span)
			}
		})
	}
}
