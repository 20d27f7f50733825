package check_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"go.uber.org/goleak"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/check"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	pv   = "SR01:PRES"
	hour = int64(time.Hour)
	noon = 1_700_006_400 * int64(time.Second) // a full hour
)

// archive is a store that a test fills row by row.
type archive struct {
	*pebble.Store
	t *testing.T
	n uint32 // of the latest block
}

// newArchive returns an archive with one PV and one writer. The PV has samples in two hours,
// and the second hour begins with a carried-forward sample. The writer has two rows, and the
// first row is sealed.
func newArchive(t *testing.T) *archive {
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	a := &archive{Store: st, t: t}
	a.must(a.AddChannel(t.Context(), store.Channel{
		PV: pv, Shards: []int{3}, Starts: []store.Bucket{store.Hour.Of(noon)}, Types: []sample.Type{sample.Float64},
	}))
	a.must(a.PutBlocks(t.Context(), a.block(noon+1, noon+2, noon+5), a.carriedForward(noon+hour, noon+5), a.block(noon+hour+1)))
	a.must(a.PutClaim(t.Context(), store.Claim{Shard: 3, Writer: store.WriterID{1}, Epoch: 1}))
	a.row(store.At(1, 1), pv, noon+hour+1)
	a.row(store.At(1, 2), pv, noon+hour+2)
	a.must(a.Seal(t.Context(), 3, store.WriterID{1}, store.At(1, 1)))
	a.must(a.PutMarks(t.Context(), store.PVMark{PV: pv, Mark: sample.Mark{Kind: sample.Connected}}))
	a.must(a.PutMetadata(t.Context(), store.PVMetadata{PV: pv, Metadata: sample.Metadata{Type: sample.Float64}}))
	return a
}

func (a *archive) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

func number(t int64) sample.Sample {
	return sample.Sample{Time: t, Word: math.Float64bits(float64(t % hour))}
}

func run(times ...int64) *sample.Run {
	r := &sample.Run{Type: sample.Float64}
	for _, t := range times {
		s := number(t)
		r.Append(&s)
	}
	return r
}

// block returns a block as a sealer makes it, in the hour of its first sample.
func (a *archive) block(times ...int64) store.Block {
	a.n++
	r := run(times...)
	sum, low, high := 0.0, math.Inf(1), math.Inf(-1)
	for i := range times {
		v := r.Float(i)
		sum, low, high = sum+v, min(low, v), max(high, v)
	}
	return store.Block{
		BlockKey: store.BlockKey{PV: pv, Bucket: store.Hour.Of(times[0]), Start: times[0], Writer: store.WriterID{2}, N: a.n},
		End:      times[len(times)-1], Count: len(times), Type: r.Type, Min: low, Max: high, Sum: sum, Blob: block.Append(nil, r),
	}
}

// carriedForward returns the block with which the hour of a time begins.
func (a *archive) carriedForward(at, from int64) store.Block {
	b := a.block(from)
	r := run(from)
	r.Tags[0] |= sample.CarriedForward
	b.Bucket = store.Hour.Of(at)
	b.Start, b.Count, b.Blob = b.Bucket.Start(), 0, block.Append(nil, r)
	b.Min, b.Max, b.Sum = math.NaN(), math.NaN(), math.NaN()
	return b
}

// row puts a journal row of a writer. The row is made at the time of its last sample.
func (a *archive) row(at store.Position, pv string, times ...int64) {
	blob := block.Append(nil, run(times...))
	index := binary.AppendVarint([]byte{1}, times[len(times)-1])
	index = binary.AppendUvarint(append(index, 0), uint64(len(pv)))
	index = binary.AppendUvarint(append(index, pv...), uint64(len(blob)))
	a.must(a.PutJournal(a.t.Context(), store.JournalRow{
		Shard: 3, Writer: store.WriterID{1}, At: at, Index: index, Blob: s2.Encode(nil, blob),
	}))
}

func options() check.Options {
	return check.Options{Shards: 8, Now: func() time.Time { return time.Unix(0, noon+2*hour) }}
}

func (a *archive) check(st check.Store, opts check.Options) check.Report {
	a.t.Helper()
	r, err := check.Run(a.t.Context(), st, opts)
	if err != nil || !r.Complete {
		a.t.Fatalf("the check ends with %v", err)
	}
	return r
}

// wrong compares the findings of a check with "kind" or "kind: part of its text".
func (a *archive) wrong(r check.Report, want ...string) {
	a.t.Helper()
	var got []string
	for _, f := range r.Findings {
		got = append(got, string(f.Kind)+": "+f.Text)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.EqualFunc(got, want, func(got, want string) bool {
		kind, text, _ := strings.Cut(want, ": ")
		return strings.HasPrefix(got, kind+": ") && strings.Contains(got, text)
	}) {
		a.t.Errorf("findings are %q, want %q", got, want)
	}
}

func TestGoodArchiveHasNoFindings(t *testing.T) {
	a := newArchive(t)
	r := a.check(a, options())
	a.wrong(r)
	if r.PVs != 1 || r.Shards != 8 || r.Blocks != 3 || r.Samples != 4 || r.Rows != 1 || r.Marks != 1 || r.Metadata != 1 || r.Problems() != 0 {
		t.Errorf("the report is %+v", r)
	}
}

// changed returns a changed block.
func changed(b store.Block, f func(b *store.Block)) store.Block {
	f(&b)
	return b
}

// wrongRun returns a block with a run that no sealer writes.
func wrongRun(b store.Block, r *sample.Run) store.Block {
	b.Start, b.End, b.Count, b.Blob = r.Times[0], r.Times[r.Len()-1], r.Len(), block.Append(nil, r)
	return b
}

func TestWrongBlocks(t *testing.T) {
	for name, test := range map[string]struct {
		put  func(a *archive) store.Block
		want string
	}{
		"damaged": {func(a *archive) store.Block {
			return changed(a.block(noon+9), func(b *store.Block) { b.Blob[0] = 0xee })
		}, "damaged_block"},
		"truncated": {func(a *archive) store.Block {
			return changed(a.block(noon+9), func(b *store.Block) { b.Blob = b.Blob[:5] })
		}, "damaged_block"},
		"type": {func(a *archive) store.Block {
			return changed(a.block(noon+9), func(b *store.Block) { b.Type = sample.Int64 })
		}, "wrong_header: the header has type int64"},
		"count":   {func(a *archive) store.Block { return changed(a.block(noon+9), func(b *store.Block) { b.Count = 2 }) }, "wrong_header: counts 2 samples"},
		"end":     {func(a *archive) store.Block { return changed(a.block(noon+9), func(b *store.Block) { b.End++ }) }, "wrong_header: the samples are from"},
		"start":   {func(a *archive) store.Block { return changed(a.block(noon+9), func(b *store.Block) { b.Start++ }) }, "wrong_header: the samples are from"},
		"minimum": {func(a *archive) store.Block { return changed(a.block(noon+9), func(b *store.Block) { b.Min-- }) }, "wrong_header: sum"},
		"maximum": {func(a *archive) store.Block {
			return changed(a.block(noon+9), func(b *store.Block) { b.Max = math.NaN() })
		}, "wrong_header: sum"},
		"sum":       {func(a *archive) store.Block { return changed(a.block(noon+9), func(b *store.Block) { b.Sum++ }) }, "wrong_header: sum"},
		"order":     {func(a *archive) store.Block { return wrongRun(a.block(noon+9), run(noon+9, noon+8, noon+10)) }, "wrong_order: follows"},
		"duplicate": {func(a *archive) store.Block { return wrongRun(a.block(noon+9), run(noon+9, noon+9)) }, "wrong_order: repeated"},
		"crosses":   {func(a *archive) store.Block { return a.block(noon+9, noon+hour) }, "wrong_bucket"},
		"early": {func(a *archive) store.Block {
			return changed(a.block(noon+9), func(b *store.Block) { b.Bucket = b.Bucket.Next() })
		}, "wrong_bucket"},
		"carried count": {func(a *archive) store.Block {
			return changed(a.carriedForward(noon+2*hour, noon+5), func(b *store.Block) { b.Count = 1 })
		}, "wrong_header: a carried-forward sample in a block with a header count of 1"},
		"carried place": {func(a *archive) store.Block {
			return changed(a.carriedForward(noon+2*hour, noon+hour+1), func(b *store.Block) { b.Start++ })
		}, "wrong_header: a carried-forward sample of"},
		"carried forward from inside its bucket": {func(a *archive) store.Block {
			return changed(a.carriedForward(noon+hour, noon+hour+7), func(b *store.Block) { b.End = noon + hour + 7 })
		}, "wrong_carried_forward: not before"},
		"carried stale":            {func(a *archive) store.Block { return a.carriedForward(noon+2*hour, noon+5) }, "wrong_carried_forward: but the last sample before"},
		"copy of a missing sample": {func(a *archive) store.Block { return a.carriedForward(noon+2*hour, noon+hour+9) }, "wrong_carried_forward: no sample of its time"},
		"carried other": {func(a *archive) store.Block {
			b := a.carriedForward(noon+2*hour, noon+hour+1)
			r := run(noon + hour + 1)
			r.Tags[0], r.Words[0] = sample.CarriedForward, 77
			b.Blob = block.Append(nil, r)
			return b
		}, "wrong_carried_forward: is different"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			a.must(a.PutBlocks(t.Context(), test.put(a)))
			r := a.check(a, options())
			a.wrong(r, test.want)
			if r.Problems() != 1 || r.Findings[0].PV != pv || r.Findings[0].Severity != check.Error || !strings.Contains(r.Findings[0].Where, "hour bucket") {
				t.Errorf("%d problems: %+v", r.Problems(), r.Findings)
			}
		})
	}
}

// TestCarriedForwardSamplesThatAreRight checks that a carried-forward sample may wait in the
// journal, and may be gone with the rest of its bucket.
func TestCarriedForwardSamplesThatAreRight(t *testing.T) {
	a := newArchive(t)
	a.must(a.PutBlocks(t.Context(), a.carriedForward(noon+2*hour, noon+hour+2))) // only in the journal
	a.must(a.PutBlocks(t.Context(), a.carriedForward(noon, noon-hour+9)))        // its bucket is gone
	big := a.carriedForward(noon+hour, noon+5)
	r := run(noon + 5)
	r.Words[0], r.Tags[0] = 0, sample.CarriedForward|sample.Elsewhere
	big.Blob = block.Append(nil, r) // not copied, as it is large
	a.must(a.PutBlocks(t.Context(), big))
	a.wrong(a.check(a, options()))
}

func TestDirectory(t *testing.T) {
	a := newArchive(t)
	a.must(a.AddChannel(t.Context(), store.Channel{PV: pv, Shards: []int{16}, Types: []sample.Type{99}, Starts: []store.Bucket{7}}))
	a.wrong(a.check(a, options()), "wrong_directory: shard 16", "wrong_directory: type 99", "wrong_directory: bucket 7")
}

// TestShardsOfTwoEngines checks that a check includes the shards of PVs that two engines
// capture.
func TestShardsOfTwoEngines(t *testing.T) {
	a := newArchive(t)
	a.must(a.AddChannel(t.Context(), store.Channel{PV: pv, Shards: []int{11}}))
	a.must(a.PutClaim(t.Context(), store.Claim{Shard: 11, Writer: store.WriterID{2}}))
	r := a.check(a, options())
	if a.wrong(r, "wrong_claim: epoch of the claim is 0"); r.Shards != 9 {
		t.Errorf("checked %d shards, want 9", r.Shards)
	}
}

// TestRepairOfTheDirectory checks that unlisted blocks are reported, and that
// Options.Repair adds them to the directory.
func TestRepairOfTheDirectory(t *testing.T) {
	a := newArchive(t)
	early := a.block(noon - hour)
	text := &sample.Run{Type: sample.String, Times: []int64{noon - 400*24*hour}, Tags: []sample.Tag{0}, Ends: []uint32{2}, Bytes: []byte("on")}
	other := wrongRun(a.block(text.Times[0]), text)
	other.Type, other.Min, other.Max, other.Sum = text.Type, math.NaN(), math.NaN(), math.NaN()
	stray := early
	stray.PV = "STRAY"
	a.must(a.PutBlocks(t.Context(), early, other, stray))
	want := []string{"unlisted: the PV has no entry", "unlisted: the directory does not list this bucket", "unlisted: the directory does not list this bucket", "unlisted: types [string] of blocks"}
	r := a.check(a, options())
	if a.wrong(r, want...); r.Problems() != 4 {
		t.Errorf("%d problems", r.Problems())
	}
	opts := options()
	opts.Repair = true
	r = a.check(a, opts)
	if a.wrong(r, want...); r.Problems() != 0 || r.Repaired != 4 {
		t.Errorf("%d problems remain, %d repaired", r.Problems(), r.Repaired)
	}
	a.wrong(a.check(a, options()))
	ch, _, err := a.Channel(t.Context(), "STRAY")
	if a.must(err); len(ch.Starts) != 1 || len(ch.Types) != 1 {
		t.Errorf("the directory has %+v", ch)
	}
}

// damagedEntry is a store in which an element of each directory entry cannot be read.
type damagedEntry struct {
	*pebble.Store
	damaged int
}

func (s *damagedEntry) Channel(ctx context.Context, pv string) (store.Channel, bool, error) {
	c, found, err := s.Store.Channel(ctx, pv)
	c.Damaged = s.damaged
	return c, found, err
}

func (s *damagedEntry) DropDamaged(context.Context, string) error {
	s.damaged = 0
	return nil
}

// TestElementsOfTheDirectoryThatCannotBeRead makes sure that a check names them, and that a repair removes them.
func TestElementsOfTheDirectoryThatCannotBeRead(t *testing.T) {
	a := newArchive(t)
	st := &damagedEntry{a.Store, 2}
	a.must(a.AddChannel(t.Context(), store.Channel{PV: pv, Deleted: []store.Deleted{{From: noon - 5, To: noon - 4}, {From: noon, To: math.MaxInt64}, {From: 5, To: 4}}}))
	want := []string{"wrong_directory: 2 of its elements cannot be read", "wrong_directory: only ranges in the past", "wrong_directory: only ranges in the past"}
	a.wrong(a.check(st, options()), want...)
	opts := options()
	opts.Repair = true
	a.wrong(a.check(st, opts), want...)
	a.wrong(a.check(st, options()), want[1:]...)
}

// TestStoreThatCannotListBlocks checks that in a store that cannot list its blocks, only
// buckets in the directory are checked.
func TestStoreThatCannotListBlocks(t *testing.T) {
	a := newArchive(t)
	a.must(a.PutBlocks(t.Context(), a.block(noon-hour)))
	bad := a.block(noon+9, noon+10)
	bad.Count = 3
	a.must(a.PutBlocks(t.Context(), bad))
	r := a.check(blockStore{a.Store}, options())
	if a.wrong(r, "wrong_header"); r.Blocks != 4 {
		t.Errorf("%d blocks", r.Blocks)
	}
}

// blockStore is a store without the methods of Lister.
type blockStore struct{ store.Store }

func TestDropOfDamagedBlocks(t *testing.T) {
	a := newArchive(t)
	bad := a.block(noon + 9)
	bad.Blob = []byte("no block")
	a.must(a.PutBlocks(t.Context(), bad))
	opts := options()
	var dropped []store.Block
	opts.Drop = func(_ context.Context, b store.Block) error { dropped = append(dropped, b); return nil }
	r := a.check(a, opts)
	if a.wrong(r, "damaged_block: the block was dropped, with 1 samples"); r.Problems() != 0 {
		t.Errorf("%d problems remain", r.Problems())
	}
	if len(dropped) != 1 || dropped[0].BlockKey != bad.BlockKey || string(dropped[0].Blob) != "no block" {
		t.Errorf("dropped: %+v", dropped)
	}
	opts.Drop = func(context.Context, store.Block) error { return errors.New("no disk") }
	if r = a.check(a, opts); r.Problems() != 1 {
		t.Errorf("%d problems if the block cannot be dropped", r.Problems())
	}
}

func TestJournal(t *testing.T) {
	w := store.WriterID{1}
	for name, test := range map[string]struct {
		put  func(a *archive)
		want []string
	}{
		"next row":       {func(a *archive) { a.row(store.At(1, 3), pv, noon+hour+3) }, nil},
		"next partition": {func(a *archive) { a.row(store.At(2, 1), pv, noon+hour+3) }, nil},
		"gap":            {func(a *archive) { a.row(store.At(1, 4), pv, noon+hour+3) }, []string{"missing_row: row 1/4 follows row 1/2"}},
		"no first row":   {func(a *archive) { a.row(store.At(2, 2), pv, noon+hour+3) }, []string{"missing_row: row 2/2 follows row 1/2"}},
		"damaged": {func(a *archive) {
			a.must(a.PutJournal(t.Context(), store.JournalRow{Shard: 3, Writer: w, At: store.At(1, 3), Index: []byte{1, 0}, Blob: []byte{9}}))
			a.must(a.PutJournal(t.Context(), store.JournalRow{Shard: 3, Writer: w, At: store.At(1, 4), Index: []byte("no index")}))
		}, []string{"damaged_row: row 1/4"}},
		"closed": {func(a *archive) {
			a.must(a.PutClaim(t.Context(), store.Claim{Shard: 3, Writer: w, Epoch: 1, Closed: true, Last: store.At(1, 2)}))
		}, nil},
		"closed too early": {func(a *archive) {
			a.must(a.PutClaim(t.Context(), store.Claim{Shard: 3, Writer: w, Epoch: 1, Closed: true, Last: store.At(1, 1)}))
		}, []string{"wrong_claim: row 1/2 follows the writer's last row 1/1"}},
		"the end is missing": {func(a *archive) {
			a.must(a.PutClaim(t.Context(), store.Claim{Shard: 3, Writer: w, Epoch: 1, Closed: true, Last: store.At(2, 7)}))
		}, []string{"missing_row: up to the writer's last row 2/7"}},
		"an acknowledged row is missing": {func(a *archive) {
			a.must(a.PutClaim(t.Context(), store.Claim{Shard: 3, Writer: w, Epoch: 1, Last: store.At(1, 3)}))
		}, []string{"missing_row: up to the writer's acknowledged row 1/3"}},
		"sealed too far": {func(a *archive) {
			a.must(a.PutClaim(t.Context(), store.Claim{Shard: 3, Writer: w, Epoch: 1, Closed: true, Last: store.At(1, 2)}))
			a.must(a.Seal(t.Context(), 3, w, store.At(1, 3)))
		}, []string{"wrong_claim: the claim is sealed up to 1/3, beyond the writer's last row 1/2"}},
		"no epoch": {func(a *archive) { a.must(a.PutClaim(t.Context(), store.Claim{Shard: 0, Writer: w})) }, []string{"wrong_claim: epoch"}},
		"the first row is missing": {func(a *archive) {
			claims, err := a.Claims(t.Context(), 3)
			a.must(err)
			a.must(a.DropClaim(t.Context(), claims[0]))
			a.must(a.PutClaim(t.Context(), store.Claim{Shard: 3, Writer: w, Epoch: 1}))
			a.row(store.At(1, 2), pv, noon+hour+3)
		}, []string{"missing_row: row 1/2 follows row 0/0"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			test.put(a)
			a.wrong(a.check(a, options()), test.want...)
		})
	}
}

func TestRowsThatAreUnsealedForLong(t *testing.T) {
	a := newArchive(t)
	opts := options()
	opts.JournalTTL = 5 * time.Hour
	a.wrong(a.check(a, opts))
	opts.JournalTTL = 3 * time.Hour
	r := a.check(a, opts)
	if a.wrong(r, "unsealed: 1 rows are not sealed, the oldest for 1h0m0s"); r.Findings[0].Severity != check.Warning || r.Problems() != 1 {
		t.Errorf("%+v", r.Findings)
	}
}

func TestInfoFindingsAreNoProblems(t *testing.T) {
	a := newArchive(t)
	old := a.block(noon-30*24*hour, noon-30*24*hour+2)
	old.Bucket = old.Bucket.In(store.Keep1d)
	a.must(a.PutBlocks(t.Context(), old, a.block(noon+1, noon+3)))
	a.must(a.AddChannel(t.Context(), store.Channel{PV: pv, Starts: []store.Bucket{old.Bucket}}))
	r := a.check(a, options())
	if a.wrong(r, "expired: and still exist", "overlap: 1 of 4 blocks"); r.Problems() != 0 {
		t.Errorf("%d problems", r.Problems())
	}
}

func TestMarksAndMetadata(t *testing.T) {
	a := newArchive(t)
	a.must(a.PutMarks(t.Context(), store.PVMark{PV: pv, Mark: sample.Mark{Kind: 77}}))
	a.must(a.PutMetadata(t.Context(), store.PVMetadata{PV: "ONLY:METADATA", Metadata: sample.Metadata{Type: 77}}))
	r := a.check(a, options())
	if a.wrong(r, "wrong_mark: kind 77", "wrong_metadata: type 77"); r.PVs != 2 {
		t.Errorf("%d PVs", r.PVs)
	}
}

// TestFindingsAreBounded checks that a report keeps at most Options.Most findings of a kind,
// and counts all of them.
func TestFindingsAreBounded(t *testing.T) {
	a := newArchive(t)
	for i := range int64(50) {
		a.must(a.PutBlocks(t.Context(), changed(a.block(noon+10+i), func(b *store.Block) { b.Count = 2 })))
	}
	opts := options()
	opts.Most = 7
	if r := a.check(a, opts); len(r.Findings) != 7 || r.Counts[check.WrongHeader] != 50 || r.Problems() != 50 {
		t.Errorf("%d findings kept, counts %v", len(r.Findings), r.Counts)
	}
}

// TestRowsBeingWrittenAreNotWrong checks that a finding of the first pass does not count if
// the second pass does not confirm it.
func TestRowsBeingWrittenAreNotWrong(t *testing.T) {
	a := newArchive(t)
	b := a.block(noon + hour + 9)
	a.must(a.PutBlocks(t.Context(), a.carriedForward(noon+2*hour, noon+hour+9)))
	st := &failingStore{Store: a.Store, fail: func(n int) bool {
		if n == 4 { // after the blocks of the hour were read
			a.must(a.PutBlocks(t.Context(), b))
		}
		return false
	}}
	a.wrong(a.check(st, options()))
}

func TestOnePV(t *testing.T) {
	a := newArchive(t)
	a.must(a.AddChannel(t.Context(), store.Channel{PV: "OTHER", Shards: []int{77}}))
	a.must(a.PutClaim(t.Context(), store.Claim{Shard: 0, Writer: store.WriterID{1}}))
	opts := options()
	opts.Match = func(name string) bool { return name == pv }
	if r := a.check(a, opts); r.PVs != 1 || r.Shards != 0 {
		a.wrong(r)
		t.Errorf("%d PVs and %d shards", r.PVs, r.Shards)
	}
}

// TestStoppedCheckReportsItsFindings checks that the report of a stopped check has the
// findings so far.
func TestStoppedCheckReportsItsFindings(t *testing.T) {
	a := newArchive(t)
	a.must(a.PutBlocks(t.Context(), changed(a.block(noon+9), func(b *store.Block) { b.Count = 2 })))
	ctx, stop := context.WithCancel(t.Context())
	opts := options()
	opts.Now = func() time.Time { // called for each pass; the third is over the journal
		a.n++
		if a.n == 8 {
			stop()
		}
		return time.Unix(0, noon+2*hour)
	}
	r, err := check.Run(ctx, a, opts)
	if !errors.Is(err, context.Canceled) || r.Complete || r.Counts[check.WrongHeader] != 1 {
		t.Errorf("%v, complete: %v, found %v", err, r.Complete, r.Counts)
	}
}
