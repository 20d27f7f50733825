package query

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/s2"
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/spool"
	"varve.dev/varve/engine/store"
)

// sources is an engine that holds samples in memory and in its spool. It answers as an engine does:
// with the samples of the requested range, and the last one before it.
type sources struct {
	memory []*sample.Run
	spool  *spool.Spool
	t      *testing.T
}

// Recent implements Recent.
func (s *sources) Recent(_ context.Context, q RecentRequest) Held {
	h := Held{Known: true, Shards: []int{home()}}
	if s.spool != nil {
		runs, err := s.spool.Recent(q.PV, q.From, q.To, home())
		if err != nil {
			s.t.Error(err)
		}
		h.Runs = runs
	}
	for _, r := range s.memory {
		h.Runs = append(h.Runs, r.Within(q.From, q.To).Clone())
	}
	return h
}

// newSpool returns a running spool.
func newSpool(t *testing.T) *spool.Spool {
	s, err := spool.Open(spool.Config{
		Dir: "spool", Archive: "test", Size: spool.MinSize, Sync: time.Millisecond, FS: vfs.NewMem(),
		Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { s.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// spooled returns samples of one type as a row of the spool.
func spooled(samples ...typed) journal.SpoolRow {
	blob := block.Append(nil, run(samples))
	index := binary.AppendVarint([]byte{1}, 0)
	index = binary.AppendUvarint(append(index, 0), uint64(len(testPV)))
	index = binary.AppendUvarint(append(index, testPV...), uint64(len(blob)))
	return journal.SpoolRow{Shard: home(), Samples: len(samples), Index: index, Blob: s2.Encode(nil, blob)}
}

// paths are the ways by which samples reach a reader. Each puts samples of one type, by time, where that
// way finds them.
var paths = map[string]func(a *archive, s *sources, samples []typed){
	"blocks": func(a *archive, _ *sources, samples []typed) {
		a.scatterBlocks([]store.BucketSize{store.Hour, store.Day}, samples)
	},
	"journal rows": func(a *archive, _ *sources, samples []typed) { a.row(writer(101), home(), samples...) },
	"memory":       func(_ *archive, s *sources, samples []typed) { s.memory = append(s.memory, run(samples)) },
	"spool": func(a *archive, s *sources, samples []typed) {
		if s.spool == nil {
			s.spool = newSpool(s.t)
		}
		a.check(s.spool.Put([]journal.SpoolRow{spooled(samples...)}))
	},
}

// randomSamples returns runs of samples of one type each. Some have the same time, and some are equal.
func randomSamples(rng *rand.Rand) (runs [][]typed) {
	at := epoch + rng.Int64N(10*second)
	for range 1 + rng.IntN(12) {
		t, span := sample.Float64, []int64{second, 60 * second, 3600 * second}[rng.IntN(3)]
		if rng.IntN(4) == 0 {
			t = sample.String
		}
		var part []typed
		for range 1 + rng.IntN(30) {
			s := typed{t, sample.Sample{Time: at, Tag: sample.MakeTag(sample.Severity(rng.IntN(4)), 3)}}
			if t == sample.String {
				s.Bytes = fmt.Appendf(nil, "s%d", rng.IntN(3))
			} else {
				s.Word = rng.Uint64N(3)
			}
			part = append(part, s)
			at += rng.Int64N(3) * rng.Int64N(span) / 2
		}
		runs = append(runs, part)
	}
	return runs
}

// readAll reads a range. It returns the keys of the samples in it, in an order that does not depend on
// that in which samples of one time arrived, and the time of the sample before it, or 0. It checks that
// the samples are in order of time.
func readAll(t *testing.T, r *Reader, from, to int64) (in []string, before int64) {
	t.Helper()
	read, err := r.Read(t.Context(), testPV, from, to, Options{})
	if err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	for run, err := range read.All {
		if err != nil {
			t.Fatal(err)
		}
		for i := range run.Len() {
			s := run.At(i)
			switch {
			case s.Time < last || s.Time > to || s.Time < from && last != 0:
				t.Fatalf("range [%d, %d]: a sample of time %d follows one of time %d", from, to, s.Time, last)
			case s.Time < from:
				before = s.Time
			default:
				in = append(in, fmt.Sprintf("%d %v", s.Time-epoch, typed{run.Type, s}.key()))
			}
			last = s.Time
		}
	}
	slices.Sort(in)
	return in, before
}

// TestAllPathsReadTheSame checks that a range has the same samples, and the same sample before it,
// whether they are in blocks, in journal rows, in the memory of an engine, in its spool, or in several
// of these, some twice. It also splits the range at any time, and reads the parts.
func TestAllPathsReadTheSame(t *testing.T) { readPaths(t, 0, 5) }

func TestLong_AllPathsReadTheSame(t *testing.T) { readPaths(t, 5, 80) }

func readPaths(t *testing.T, first, last uint64) {
	names := []string{"blocks", "journal rows", "memory", "spool", "all of them"}
	for seed := first; seed < last; seed++ {
		runs := randomSamples(rand.New(rand.NewPCG(seed, 1)))
		var readers []*Reader
		for _, name := range names {
			readers = append(readers, fillPath(t, name, seed, runs))
		}
		rng := rand.New(rand.NewPCG(seed, 2))
		for range 12 {
			all := slices.Concat(runs...)
			from := all[rng.IntN(len(all))].Time + rng.Int64N(3) - 1
			to := from + rng.Int64N(3*hour)
			want, before := samplesIn(all, from, to)
			for i, r := range readers {
				checkPath(t, r, fmt.Sprintf("seed %d, %s", seed, names[i]), from, to, want, before)
				cut := from + rng.Int64N(to-from+1)
				left, _ := readAll(t, r, from, cut)
				right, _ := readAll(t, r, cut+1, to)
				if both := slices.Sorted(slices.Values(slices.Concat(left, right))); !slices.Equal(both, want) {
					t.Fatalf("seed %d, %s: [%d, %d] split at %d has %d samples, want %d", seed, names[i], from, to, cut, len(both), len(want))
				}
			}
		}
	}
}

func checkPath(t *testing.T, r *Reader, what string, from, to int64, want []string, before int64) {
	t.Helper()
	got, led := readAll(t, r, from, to)
	if !slices.Equal(got, want) {
		t.Fatalf("%s: [%d, %d] has %d samples, want %d:\n%q\n%q", what, from, to, len(got), len(want), got, want)
	}
	if led != before {
		t.Fatalf("%s: [%d, %d] begins with a sample of time %d, want %d", what, from, to, led, before)
	}
}

// samplesIn returns what readAll must return.
func samplesIn(all []typed, from, to int64) (in []string, before int64) {
	exact := false
	for _, s := range all {
		switch {
		case s.Time < from:
			before = max(before, s.Time)
		case s.Time <= to:
			exact = exact || s.Time == from
			in = append(in, fmt.Sprintf("%d %v", s.Time-epoch, s.key()))
		}
	}
	if exact {
		before = 0
	}
	slices.Sort(in)
	return slices.Compact(in), before
}

// fillPath returns a reader of an archive that has the samples in the named place.
func fillPath(t *testing.T, name string, seed uint64, runs [][]typed) *Reader {
	a := newArchive(t, seed)
	a.now = epoch
	a.directory(store.Channel{Shards: []int{home()}, Types: []sample.Type{sample.Float64, sample.String}})
	s := &sources{t: t}
	places := []string{"blocks", "journal rows", "memory", "spool"}
	for _, part := range runs {
		if name != "all of them" {
			paths[name](a, s, part)
			continue
		}
		for i := 0; i < len(part); { // each piece is in one or two places
			j := min(len(part), i+1+a.rng.IntN(10))
			at := a.rng.IntN(len(places))
			paths[places[at]](a, s, part[i:j])
			if a.rng.IntN(3) == 0 {
				paths[places[(at+1)%len(places)]](a, s, part[i:j])
			}
			i = j
		}
	}
	r := a.reader()
	r.Recent = s
	return r
}
