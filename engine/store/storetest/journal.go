package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"varve.dev/varve/engine/store"
)

func row(shard int, w store.WriterID, at store.Position, text string) store.JournalRow {
	return store.JournalRow{Shard: shard, Writer: w, At: at, Index: []byte("index of " + text), Blob: []byte(text)}
}

func (s *suite) journal(t *testing.T, shard int, w store.WriterID, after store.Position) []store.JournalRow {
	t.Helper()
	return collect(t, s.Journal(t.Context(), shard, w, after, 0))
}

// fill writes rows at positions, and returns them.
func (s *suite) fill(t *testing.T, shard int, w store.WriterID, at ...store.Position) []store.JournalRow {
	t.Helper()
	rows := make([]store.JournalRow, len(at))
	for i := range at {
		rows[i] = row(shard, w, at[i], w.String()+string(rune('a'+i)))
		must(t, s.PutJournal(t.Context(), rows[i]))
	}
	return rows
}

// positions returns n positions in each of partitions 1 to parts.
func positions(parts, n uint32) (at []store.Position) {
	for part := range parts {
		for seq := range n {
			at = append(at, store.At(part+1, seq+1))
		}
	}
	return at
}

func testJournalOrder(t *testing.T, s *suite) {
	shard, w := s.shard(), newWriter()
	equal(t, "journal of a new writer", len(s.journal(t, shard, w, 0)), 0)
	at := positions(4, 20)
	shuffled := append([]store.Position(nil), at...)
	rand.Shuffle(len(at), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	s.fill(t, shard, w, shuffled...)
	var got []store.Position
	for _, r := range s.journal(t, shard, w, 0) {
		got = append(got, r.At)
	}
	equal(t, "positions", got, at)
}

func testJournalResumes(t *testing.T, s *suite) {
	shard, w := s.shard(), newWriter()
	rows := s.fill(t, shard, w, positions(3, 3)...)
	for i, r := range rows {
		equal(t, fmt.Sprintf("rows after %x", r.At), s.journal(t, shard, w, r.At), rows[i+1:])
	}
	equal(t, "rows after a position between partitions", s.journal(t, shard, w, store.At(1, 1000)), rows[3:])
	equal(t, "rows after the last partition", len(s.journal(t, shard, w, store.At(9, 1))), 0)
	// Rows may be gone from the last sealed partition and from the partitions before it.
	later := s.fill(t, shard, w, store.At(500, 1), store.At(501, 1))
	equal(t, "rows after a partition that no longer exists", s.journal(t, shard, w, store.At(499, 7)), later)
}

func testJournalIsIdempotent(t *testing.T, s *suite) {
	shard, w := s.shard(), newWriter()
	want := s.fill(t, shard, w, positions(2, 2)...)
	s.fill(t, shard, w, positions(2, 2)...)
	equal(t, "rows written twice", s.journal(t, shard, w, 0), want)
}

func testJournalKeepsApart(t *testing.T, s *suite) {
	a := newWriter()
	b := a
	b[15]++
	one, two := s.shard(), s.shard()
	want := map[int]map[store.WriterID][]store.JournalRow{one: {}, two: {}}
	for _, shard := range []int{one, two} {
		for _, w := range []store.WriterID{a, b} {
			want[shard][w] = s.fill(t, shard, w, positions(2, 2)...)
		}
	}
	for shard, of := range want {
		for w, rows := range of {
			equal(t, "rows", s.journal(t, shard, w, 0), rows)
		}
	}
}

func testJournalLimits(t *testing.T, s *suite) {
	shard, w := s.shard(), newWriter()
	large := row(shard, w, store.At(1, 1), "")
	large.Blob = bytes.Repeat([]byte{0, 0xff, 'x'}, store.MaxBlob/3)
	empty := store.JournalRow{Shard: shard, Writer: w, At: store.At(1, 2)}
	must(t, s.PutJournal(t.Context(), large))
	must(t, s.PutJournal(t.Context(), empty))
	equal(t, "the largest and the smallest row", s.journal(t, shard, w, 0), []store.JournalRow{large, empty})

	large.Blob = make([]byte, store.MaxBlob+1)
	if err := s.PutJournal(t.Context(), large); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a write of a row larger than MaxBlob returns %v", err)
	}
}

func testJournalStopsEarly(t *testing.T, s *suite) {
	shard, w := s.shard(), newWriter()
	want := s.fill(t, shard, w, positions(2, 3)...)
	for r, err := range s.Journal(t.Context(), shard, w, 0, 0) {
		must(t, err)
		equal(t, "the first row", r, want[0])
		break
	}
	// The caller may keep the rows: further reading does not change them.
	equal(t, "rows kept while reading", s.journal(t, shard, w, 0), want)
}

// testJournalHasNoGaps tests that a reader sees no row of a writer without the rows before it,
// even while the writer writes. Sealers rely on this: a sealer considers all rows up to the
// last one as read.
func testJournalHasNoGaps(t *testing.T, s *suite) {
	first := []store.Position{store.At(1, 1), store.At(1, 2), store.At(2, 1), store.At(2, 2)}
	later := []store.Position{store.At(2, 3), store.At(2, 4), store.At(3, 1), store.At(3, 2), store.At(4, 1)}
	all := slices.Concat(first, later)
	for _, during := range first {
		shard, w := s.shard(), newWriter()
		s.fill(t, shard, w, first...)
		var got []store.Position
		for r, err := range s.Journal(t.Context(), shard, w, 0, 0) {
			must(t, err)
			if got = append(got, r.At); r.At == during {
				s.fill(t, shard, w, later...)
			}
		}
		if len(got) < len(first) || len(got) > len(all) || !slices.Equal(got, all[:len(got)]) {
			t.Errorf("while rows are added after position %x, a read returns positions %x of %x", during, got, all)
		}
	}
}

// testJournalWhere tests that the blobs of unwanted rows are left out, and nothing else, even if
// no row of a partition is wanted.
func testJournalWhere(t *testing.T, s *suite) {
	shard, w := s.shard(), newWriter()
	rows := s.fill(t, shard, w, positions(2, 100)...)
	large := row(shard, w, store.At(2, 101), "large")
	large.Blob = bytes.Repeat([]byte("large"), 1<<20)
	must(t, s.PutJournal(t.Context(), large))
	rows = append(rows, large)
	for name, wanted := range map[string]func(i int) bool{
		"none": func(int) bool { return false }, "all": func(int) bool { return true },
		"the last": func(i int) bool { return i == len(rows)-1 }, "some": func(i int) bool { return i%7 == 3 },
	} {
		for _, from := range []int{0, 50, 150, len(rows)} {
			after, want := store.Position(0), slices.Clone(rows[from:])
			if from > 0 {
				after = rows[from-1].At
			}
			for i := range want {
				if !wanted(from + i) {
					want[i].Blob = nil
				}
			}
			at := from
			got := collect(t, s.JournalWhere(t.Context(), shard, w, after, 0, func(index []byte) bool {
				equal(t, "an index", string(index), string(rows[at].Index))
				at++
				return wanted(at - 1)
			}))
			equal(t, fmt.Sprintf("rows after %x with the blobs of %s", after, name), got, want)
		}
	}
	for r, err := range s.JournalWhere(t.Context(), shard, w, 0, 0, func([]byte) bool { return true }) {
		must(t, err)
		equal(t, "the first row", r, rows[0])
		break
	}
}

// testJournalBehindExpiredRows tests that a reader finds the rows up to a position that it knows,
// even if rows before them have expired, and whole partitions with them. It also finds rows after
// this position.
func testJournalBehindExpiredRows(t *testing.T, s *suite) {
	shard, w := s.shard(), newWriter()
	s.fill(t, shard, w, store.At(1, 1), store.At(1, 2))
	rows := s.fill(t, shard, w, store.At(3, 7), store.At(70, 3), store.At(70, 4), store.At(71, 1), store.At(200, 1), store.At(201, 1))
	for _, after := range []store.Position{store.At(1, 2), store.At(1, 9), store.At(2, 4)} {
		for _, through := range []store.Position{store.At(200, 1), store.At(201, 1), store.At(230, 1)} {
			name := fmt.Sprintf("rows after %x through %x", after, through)
			equal(t, name, collect(t, s.Journal(t.Context(), shard, w, after, through)), rows)
			equal(t, name, collect(t, s.JournalWhere(t.Context(), shard, w, after, through, func([]byte) bool { return true })), rows)
		}
	}
	equal(t, "rows behind two gaps", collect(t, s.Journal(t.Context(), shard, w, store.At(3, 7), store.At(70, 3)))[:3], rows[1:4])
	for range s.Journal(t.Context(), shard, w, store.At(1, 2), store.At(200, 1)) {
		break // the caller stops in front of a gap
	}
	none := s.shard()
	equal(t, "rows of which none is left", len(collect(t, s.Journal(t.Context(), none, w, store.At(4, 1), store.At(1000, 1)))), 0)
}

// testJournalRowsWrittenAgain tests that a row that is written again counts as written then, if the
// store says when rows were written at all.
func testJournalRowsWrittenAgain(t *testing.T, s *suite) {
	ttl, err := s.JournalTTL(t.Context())
	must(t, err)
	shard, w := s.shard(), newWriter()
	rows := s.fill(t, shard, w, positions(1, 2)...)
	large := row(shard, w, store.At(1, 3), "large")
	large.Blob = bytes.Repeat([]byte("large"), 1<<18)
	must(t, s.PutJournal(t.Context(), large))
	rows = append(rows, large)
	before := s.journal(t, shard, w, 0)
	for _, r := range before[1:] {
		must(t, s.PutJournal(t.Context(), r))
	}
	after := s.journal(t, shard, w, 0)
	equal(t, "rows that were written again", after, rows)
	indexes := collect(t, s.JournalWhere(t.Context(), shard, w, 0, 0, func([]byte) bool { return false }))
	for i := range after {
		if expires := before[i].Written != 0; expires != (ttl > 0) || indexes[i].Written != after[i].Written {
			t.Errorf("with a TTL of %v, row %d was written at %d; without its blob, at %d", ttl, i, after[i].Written, indexes[i].Written)
		}
		if later := after[i].Written > before[i].Written; later != (i > 0 && ttl > 0) {
			t.Errorf("row %d was written at %d, and then at %d", i, before[i].Written, after[i].Written)
		}
	}
}
