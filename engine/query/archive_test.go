package query

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/s2"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

const (
	testPV     = "SR01:PRES"
	testShards = 16
)

// typed is a sample with its type.
type typed struct {
	t sample.Type
	sample.Sample
}

// sampleKey identifies a sample.
type sampleKey struct {
	t     sample.Type
	time  int64
	tag   sample.Tag
	word  uint64
	bytes string
}

func (s typed) key() sampleKey {
	return sampleKey{s.t, s.Time, s.Tag &^ sample.CarriedForward, s.Word, string(s.Bytes)}
}

// archive is a store that a test fills, and a model of its samples.
type archive struct {
	t     testing.TB
	store store.Store
	held  Held
	rng   *rand.Rand
	model map[sampleKey]typed
	all   []typed // of the model, by time; nil: not sorted yet
	n     map[store.WriterID]uint32
	claim map[store.WriterID]*store.Claim
	ready []store.Block // not written yet, because each write waits for the disk
	now   int64         // 0: the current time
	older *Through      // nil: none
}

func newArchive(t testing.TB, seed uint64) *archive {
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return &archive{
		t: t, store: st, rng: rand.New(rand.NewPCG(seed, 1)), model: map[sampleKey]typed{},
		n: map[store.WriterID]uint32{}, claim: map[store.WriterID]*store.Claim{},
	}
}

// Recent implements Recent.
func (a *archive) Recent(_ context.Context, q RecentRequest) Held {
	if q.PV != testPV {
		return Held{}
	}
	return a.held
}

func (a *archive) check(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// addToModel adds samples to the model.
func (a *archive) addToModel(samples ...typed) {
	a.all = nil
	for _, s := range samples {
		a.model[s.key()] = s
	}
}

// sorted returns the model by time.
func (a *archive) sorted() []typed {
	if a.all == nil {
		a.all = slices.SortedFunc(maps.Values(a.model), func(x, y typed) int { return cmp.Compare(x.Time, y.Time) })
	}
	return a.all
}

func run(samples []typed) *sample.Run {
	r := &sample.Run{Type: samples[0].t}
	for _, s := range samples {
		r.Append(&s.Sample)
	}
	return r
}

func (a *archive) directory(c store.Channel) {
	c.PV = testPV
	a.check(a.store.AddChannel(a.t.Context(), c))
}

// block stores samples of one bucket and type as a block. Carried-forward samples may come
// first.
func (a *archive) block(w store.WriterID, b store.Bucket, samples ...typed) {
	a.directory(store.Channel{Starts: []store.Bucket{b}})
	r := run(samples)
	r.Normalize()
	a.n[w]++
	start := r.Times[0]
	if r.Tags[0]&sample.CarriedForward != 0 {
		start = b.Start()
	}
	a.ready = append(a.ready, store.Block{
		BlockKey: store.BlockKey{PV: testPV, Bucket: b, Start: start, Writer: w, N: a.n[w]},
		End:      r.Times[r.Len()-1], Count: r.Len(), Type: r.Type, Blob: block.Append(nil, r),
	})
}

// reader returns a reader of all samples stored so far.
func (a *archive) reader() *Reader {
	a.check(a.store.PutBlocks(a.t.Context(), a.ready...))
	a.ready = nil
	r := &Reader{Store: a.store, Recent: a, Shards: testShards, Through: a.older}
	if a.now != 0 {
		r.Now = func() int64 { return a.now }
	}
	return r
}

// row stores samples of one type as a journal row of a writer.
func (a *archive) row(w store.WriterID, shard int, samples ...typed) store.Position {
	c := a.claim[w]
	if c == nil {
		c = &store.Claim{Shard: shard, Writer: w, Epoch: uint64(len(a.claim) + 1)}
		a.claim[w] = c
		a.check(a.store.PutClaim(a.t.Context(), *c))
	}
	c.Last++
	at := store.At(1, uint32(c.Last))
	blob := block.Append(nil, run(samples))
	index := binary.AppendVarint([]byte{1}, 0)
	index = binary.AppendUvarint(append(index, 0), uint64(len(testPV)))
	index = binary.AppendUvarint(append(index, testPV...), uint64(len(blob)))
	a.check(a.store.PutJournal(a.t.Context(), store.JournalRow{
		Shard: shard, Writer: w, At: at, Index: index, Blob: s2.Encode(nil, blob),
	}))
	return at
}

// dropClaim drops the claim of a writer.
func (a *archive) dropClaim(w store.WriterID, shard int) {
	claims, err := a.store.Claims(a.t.Context(), shard)
	a.check(err)
	for _, c := range claims {
		if c.Writer == w {
			a.check(a.store.DropClaim(a.t.Context(), c))
		}
	}
}

// read returns the samples that a reader yields.
func (a *archive) read(from, to int64, opts Options) []typed {
	a.t.Helper()
	read, err := a.reader().Read(a.t.Context(), testPV, from, to, opts)
	a.check(err)
	return a.collect(read)
}

// readUntil returns the samples that a reader yields, and the time until which they are complete.
func (a *archive) readUntil(from, to int64) (samples []typed, until int64) {
	a.t.Helper()
	read, err := a.reader().Read(a.t.Context(), testPV, from, to, Options{})
	a.check(err)
	return a.collect(read), read.CompleteUntil
}

// collect returns the samples of a read.
func (a *archive) collect(read *Samples) []typed {
	a.t.Helper()
	var out []typed
	for r, err := range read.All {
		a.check(err)
		if r.Len() == 0 || r.Len() > chunkSamples {
			a.t.Fatalf("the reader yields a run with %d samples", r.Len())
		}
		c := r.Clone() // r is valid only until the next
		for i := range c.Len() {
			out = append(out, typed{c.Type, c.At(i)})
		}
	}
	return out
}

// expect checks a read of a range against the model.
func (a *archive) expect(from, to int64) {
	a.t.Helper()
	all := a.sorted()
	first := slices.IndexFunc(all, func(s typed) bool { return s.Time >= from })
	if first < 0 {
		first = len(all)
	}
	var before []typed // the samples that may come first
	if first > 0 && (first == len(all) || all[first].Time > from) {
		before = slices.DeleteFunc(slices.Clone(all[:first]), func(s typed) bool { return s.Time != all[first-1].Time })
	}
	got := a.read(from, to, Options{})
	if len(before) > 0 {
		if len(got) == 0 || !slices.ContainsFunc(before, func(s typed) bool { return s.key() == got[0].key() }) {
			a.t.Fatalf("range [%d, %d] does not begin with the sample of time %d before it, but with %v",
				from, to, before[0].Time, got[:min(1, len(got))])
		}
		if got[0].Tag&sample.CarriedForward != 0 {
			a.t.Fatal("the reader yields a sample that is tagged as carried forward")
		}
		got = got[1:]
	}
	want := map[sampleKey]bool{}
	for _, s := range all[first:] {
		if s.Time <= to {
			want[s.key()] = true
		}
	}
	last := from
	for _, s := range got {
		if !want[s.key()] {
			a.t.Fatalf("range [%d, %d]: sample %v is not in the archive or is yielded twice", from, to, s)
		}
		if s.Time < last {
			a.t.Fatalf("range [%d, %d]: a sample of time %d follows one of time %d", from, to, s.Time, last)
		}
		last = s.Time
		delete(want, s.key())
	}
	if len(want) > 0 {
		a.t.Fatalf("range [%d, %d]: %d samples are missing", from, to, len(want))
	}
}

func writer(n byte) store.WriterID { return store.WriterID{n} }

func home() int { return pvname.Shard(testPV, testShards) }
