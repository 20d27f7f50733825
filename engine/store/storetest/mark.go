package storetest

import (
	"math"
	"slices"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

func mark(pv string, w store.WriterID, at int64, kind sample.MarkKind) store.PVMark {
	return store.PVMark{PV: pv, Writer: w, Mark: sample.Mark{Time: at, Kind: kind}}
}

func (s *suite) marks(t *testing.T, pv string, from, to int64) []store.PVMark {
	t.Helper()
	return collect(t, s.Marks(t.Context(), pv, from, to))
}

func testMarks(t *testing.T, s *suite) {
	pv, w := s.pv("a"), newWriter()
	want := []store.PVMark{
		mark(pv, w, nanos(1950), sample.Connected), mark(pv, w, -1, sample.Disconnected), mark(pv, w, 0, sample.Paused),
		mark(pv, w, 1, sample.Resumed), mark(pv, w, nanos(2200), sample.Died),
	}
	shuffled := slices.Clone(want)
	slices.Reverse(shuffled)
	must(t, s.PutMarks(t.Context(), shuffled...))
	must(t, s.PutMarks(t.Context(), shuffled[2], mark(s.pv("b"), w, 0, sample.Lost)))
	must(t, s.PutMarks(t.Context()))
	equal(t, "all marks", s.marks(t, pv, math.MinInt64, math.MaxInt64), want)
	equal(t, "marks in [-1, 0]", s.marks(t, pv, -1, 0), want[1:3])
	equal(t, "marks in [2, 3]", len(s.marks(t, pv, 2, 3)), 0)
}

func testLatestMarks(t *testing.T, s *suite) {
	pv, w := s.pv("a"), newWriter()
	var want []store.PVMark
	for i := range 60 { // more than a page
		want = append(want, mark(pv, w, int64(i)-5, sample.Disconnected))
	}
	must(t, s.PutMarks(t.Context(), want...))
	must(t, s.PutMarks(t.Context(), mark(s.pv("b"), w, 0, sample.Lost)))
	latest := func(at int64) []store.PVMark { return collect(t, s.LatestMarks(t.Context(), pv, at)) }
	slices.Reverse(want)
	equal(t, "latest marks at any time", latest(math.MaxInt64), want)
	equal(t, "latest marks at -3", latest(-3), want[len(want)-3:])
	equal(t, "latest marks before the first", len(latest(-6)), 0)
	for m, err := range s.LatestMarks(t.Context(), pv, 10) {
		must(t, err)
		equal(t, "first of the latest marks at 10", m.Time, int64(10))
		break
	}
}

func testMarkFields(t *testing.T, s *suite) {
	pv, a, b := s.pv("a"), store.WriterID{1}, store.WriterID{2}
	// Marks of different kinds, reasons and writers may have the same time.
	want := []store.PVMark{
		mark(pv, a, 10, sample.Connected), mark(pv, b, 10, sample.Connected),
		mark(pv, a, 10, sample.Lost), mark(pv, a, 10, sample.Lost),
	}
	want[0].Text = "ioc1:5064 \u00b5 \U0001f52d"
	want[2].End, want[2].Reason, want[2].Count = 15, sample.Clock, math.MaxInt64
	want[3].End, want[3].Reason, want[3].Count = 20, sample.Overflow, 1
	must(t, s.PutMarks(t.Context(), want...))
	equal(t, "marks", s.marks(t, pv, 10, 10), want)

	want[3].Count = 2
	must(t, s.PutMarks(t.Context(), want[3]))
	equal(t, "marks after one was written again", s.marks(t, pv, 10, 10), want)

	// The bounds of a mark may come from different clocks. The mark covers the time between them.
	twisted := mark(pv, a, 40, sample.Lost)
	twisted.End = 30
	must(t, s.PutMarks(t.Context(), twisted))
	twisted.Time, twisted.End = 30, 40
	equal(t, "a mark whose end was before its begin", s.marks(t, pv, 30, 40), []store.PVMark{twisted})

	// Texts come from IOCs. Invalid UTF-8 must not prevent the write of a mark.
	latin := mark(pv, a, 11, sample.Connected)
	latin.Text = "Latin-1 \xb5"
	must(t, s.PutMarks(t.Context(), latin))
	equal(t, "marks with a text that is not UTF-8", len(s.marks(t, pv, 11, 11)), 1)
}
