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
	return collect(t, s.Journal(t.Context(), shard, w, after))
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
	for r, err := range s.Journal(t.Context(), shard, w, 0) {
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
		for r, err := range s.Journal(t.Context(), shard, w, 0) {
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
