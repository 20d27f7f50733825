package query

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// delete deletes the samples with times in [from, to].
func (a *archive) delete(from, to int64) {
	a.check(a.store.AddChannel(a.t.Context(), store.Channel{PV: testPV, Deleted: []store.Deleted{{From: from, To: to}}}))
	maps.DeleteFunc(a.model, func(_ sampleKey, s typed) bool { return from <= s.Time && s.Time <= to })
	a.all = nil
}

// TestTheOlderArchiveDoesNotFillADeletedRange deletes ranges on both sides of the seam of two archives. Samples of the
// older archive must not take the place of deleted ones, not even as the last sample before a range.
func TestTheOlderArchiveDoesNotFillADeletedRange(t *testing.T) {
	readAroundDeleted(t, 0, withoutBeginning)
}

// TestLong_TheOlderArchiveDoesNotFillADeletedRange is the same with more seeds.
func TestLong_TheOlderArchiveDoesNotFillADeletedRange(t *testing.T) {
	readAroundDeleted(t, 0, 1, 2, 3, 4, withoutBeginning)
}

// withoutBeginning is the seed with which everything before some time is deleted.
const withoutBeginning = 5

func readAroundDeleted(t *testing.T, seeds ...uint64) {
	const span = 20 * day
	for _, seed := range seeds {
		own, _, seam := split(t, seed, span, false)
		before := len(own.model)
		ranges := [][2]int64{{seam - 2*day, seam + day}, {epoch + day, epoch + 3*day}, {seam - 2*day - 5*second, seam - 2*day - 1}}
		if seed == withoutBeginning {
			ranges = [][2]int64{{Earliest, seam - day}}
		}
		for _, r := range ranges {
			own.delete(r[0], r[1])
		}
		if len(own.model) == before {
			t.Errorf("seed %d: nothing was deleted", seed)
		}
		for _, r := range ranges {
			for _, from := range []int64{r[0] - day, r[0] - 1, r[0], r[0] + 1, (r[0] + r[1]) / 2, r[1], r[1] + 1, r[1] + day} {
				own.expect(from, from)
				own.expect(from, from+span)
				own.expect(from-span, from)
			}
		}
		own.expect(epoch-day, epoch+3*span)
	}
}

// TestTheLastSampleIsBeforeADeletedOneAtTheEdge reads from the time of a deleted sample of the older archive, and from after
// the seam when the deleted sample is the last one before it. The older archive then yields no sample before the deleted one,
// so it is asked again.
func TestTheLastSampleIsBeforeADeletedOneAtTheEdge(t *testing.T) {
	older, own := newArchive(t, 1), newArchive(t, 1)
	seam := epoch + 10*day
	put := func(a *archive, at int64, word uint64) {
		a.block(writer(1), store.Year.Of(at).In(store.Forever), typed{sample.Int32, sample.Sample{Time: at, Word: word}})
	}
	put(own, epoch, 1) // imported
	for i, at := range []int64{epoch, epoch + day, epoch + 2*day, seam - 2, seam - 1} {
		put(older, at, uint64(i+1))
	}
	put(own, seam, 6)
	put(own, seam+2*day, 7)
	own.connect(writer(9), seam)
	own.older = older.through()
	own.delete(epoch+2*day, epoch+2*day)
	own.delete(seam-1, seam+day)
	own.delete(seam-2, seam-2) // touches the other range
	for _, c := range []struct {
		from, to int64
		want     []uint64
	}{
		{epoch + 2*day, epoch + 2*day, []uint64{2}},
		{epoch + 2*day, seam, []uint64{2}},
		{seam - 2, seam - 2, []uint64{2}},
		{seam - 1, seam - 1, []uint64{2}},
		{seam - 1, seam + 3*day, []uint64{2, 7}},
		{seam, seam, []uint64{2}},
		{seam + day, seam + day, []uint64{2}},
		{seam + day + 1, seam + 2*day, []uint64{2, 7}},
		{seam + 2*day, seam + 2*day, []uint64{7}},
		{epoch + day, epoch + day, []uint64{2}},
		{epoch, epoch, []uint64{1}},
	} {
		var got []uint64
		for _, s := range own.read(c.from, c.to, Options{}) {
			got = append(got, s.Word)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("from seam%+d: read %v, want %v", c.from-seam, got, c.want)
		}
	}
}

// TestBinsWithoutDeletedSamples compares the bins of two archives: one in which samples are deleted, and one that never had
// them.
func TestBinsWithoutDeletedSamples(t *testing.T) { compareBinsWithoutDeleted(t, 1) }

// TestLong_BinsWithoutDeletedSamples is TestBinsWithoutDeletedSamples with more seeds.
func TestLong_BinsWithoutDeletedSamples(t *testing.T) { compareBinsWithoutDeleted(t, 3) }

func compareBinsWithoutDeleted(t *testing.T, seeds uint64) {
	const span = 20 * day
	for seed := range seeds {
		own, _, seam := split(t, seed, span, true)
		own.delete(seam-2*day, seam+day)
		own.delete(epoch+day, epoch+3*day+7)
		never := newArchive(t, seed)
		for _, s := range own.sorted() {
			never.block(writer(1), store.Year.Of(s.Time).In(store.Forever), s)
		}
		joined, whole := own.reader(), never.reader()
		for _, from := range []int64{epoch, seam - day/3, seam, seam + 1, seam + day} {
			for _, opts := range []BinOptions{{}, {Empty: true}, {First: true}, {Empty: true, Width: day / 7}} {
				got, want := bins(t, joined, from, from+span/2, opts), bins(t, whole, from, from+span/2, opts)
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("seed %d, from %d, %+v: %d bins, want %d:\n%+v\n%+v", seed, from-seam, opts, len(got), len(want), got, want)
				}
			}
		}
	}
}
