package cassandra_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/schema"
)

// The PVs of a row in parts: one with a value that needs two parts, and one with a small value.
const (
	bigPV   = "T:BIG"
	smallPV = "T:SMALL"
)

// keptRows is a journal.Store that keeps the rows in memory.
type keptRows []store.JournalRow

func (*keptRows) Claims(context.Context, int) ([]store.Claim, error) { return nil, nil }
func (*keptRows) PutClaim(context.Context, store.Claim) error        { return nil }

func (k *keptRows) PutJournal(_ context.Context, r store.JournalRow) error {
	*k = append(*k, r)
	return nil
}

// encodedRow returns a row with one string of each PV, as a shard journal encodes it.
func encodedRow(t *testing.T, w store.WriterID, seq uint32, values map[string][]byte) store.JournalRow {
	t.Helper()
	var kept keptRows
	mem := journal.NewMemory(64 << 20)
	j := journal.NewShardJournal(1, w, &journal.Config{
		Store: &kept, Flush: time.Hour, RowBytes: 8 << 20, Memory: mem, Metrics: journal.NewMetrics(prometheus.NewRegistry(), mem),
		Log: slog.New(slog.DiscardHandler),
	})
	for pv, value := range values {
		j.Append(j.Open(pv, sample.String), sample.String, &sample.Sample{Time: int64(seq) * 1e9, Bytes: value})
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	j.Run(ctx, t.Context())
	if len(kept) != 1 {
		t.Fatalf("the samples are in %d rows, want 1", len(kept))
	}
	kept[0].At = store.At(1, seq)
	return kept[0]
}

// bigRow returns a row in two parts. Its bytes do not compress.
func bigRow(t *testing.T, w store.WriterID, seq uint32) store.JournalRow {
	t.Helper()
	rng := rand.New(rand.NewChaCha8([32]byte{byte(seq)}))
	value := make([]byte, schema.PartBytes+schema.PartBytes/8)
	for i := range value {
		value[i] = byte(rng.Uint32())
	}
	r := encodedRow(t, w, seq, map[string][]byte{bigPV: value, smallPV: fmt.Append(nil, "with big row ", seq)})
	if len(r.Blob) <= schema.PartBytes || len(r.Blob) > 2*schema.PartBytes {
		t.Fatalf("the row has %d bytes, which are not two parts", len(r.Blob))
	}
	return r
}

func smallRow(t *testing.T, w store.WriterID, seq uint32) store.JournalRow {
	t.Helper()
	return encodedRow(t, w, seq, map[string][]byte{smallPV: fmt.Append(nil, "small row ", seq)})
}

// readRows returns which rows of a writer are whole, and which are damaged. It fails the test if a
// whole row differs from the written one, or if samples of a damaged row decode.
func (s *torn) readRows(w store.WriterID, written ...store.JournalRow) (whole, damaged []uint32) {
	s.Helper()
	all := func([]byte) bool { return true }
	for i, rows := range []iter.Seq2[store.JournalRow, error]{
		s.Journal(s.Context(), 1, w, 0, 0), s.JournalWhere(s.Context(), 1, w, 0, 0, all),
	} {
		var good, bad []uint32
		for r, err := range rows {
			s.must(err)
			seq := r.At.Seq()
			n := slices.IndexFunc(written, func(r store.JournalRow) bool { return r.At.Seq() == seq })
			if n < 0 {
				s.Fatalf("row %d was not written", seq)
			}
			runs, err := journal.Decode(r)
			one, oneErr := journal.Find(r, smallPV)
			switch same := bytes.Equal(r.Blob, written[n].Blob) && bytes.Equal(r.Index, written[n].Index); {
			case same && r.Damage == nil && err == nil && oneErr == nil:
				good = append(good, seq)
			case same || err == nil || oneErr == nil || len(runs)+len(one) > 0 || errors.Is(err, journal.ErrVersion):
				s.Fatalf("row %d: %d runs are read, %v, %v; the row has the bytes that were written: %v", seq, len(runs)+len(one), err, oneErr, same)
			default:
				bad = append(bad, seq)
			}
		}
		if i > 0 && (!slices.Equal(good, whole) || !slices.Equal(bad, damaged)) {
			s.Errorf("JournalWhere finds the rows %v and the damaged rows %v, and Journal %v and %v", good, bad, whole, damaged)
		}
		whole, damaged = good, bad
	}
	return whole, damaged
}

// TestRowPartsDamagedAtSomeBytes changes bytes of the parts of a large journal row, cuts parts,
// makes them longer and exchanges them. The row must then be damaged, and the other rows whole.
func TestRowPartsDamagedAtSomeBytes(t *testing.T) { damageRowParts(t, 8) }

// TestLong_RowPartsDamagedAtManyBytes does the same at many more positions.
func TestLong_RowPartsDamagedAtManyBytes(t *testing.T) { damageRowParts(t, 200) }

func damageRowParts(t *testing.T, positions int) {
	s := newTorn(t)
	w := store.WriterID{1}
	rows := []store.JournalRow{smallRow(t, w, 1), bigRow(t, w, 2), bigRow(t, w, 3), smallRow(t, w, 4)}
	for _, r := range rows {
		s.must(s.PutJournal(t.Context(), r))
	}
	parts := [][]byte{rows[1].Blob[:schema.PartBytes], rows[1].Blob[schema.PartBytes:]}
	put := func(part int, body []byte) {
		s.exec("INSERT INTO @journal_part (shard, writer, n, seq, part, body) VALUES (1, ?, 1, 2, ?, ?)", w[:], part, body)
	}
	check := func(what string, part, at int, damaged bool) {
		t.Helper()
		wantWhole, wantDamaged := []uint32{1, 2, 3, 4}, []uint32(nil)
		if damaged {
			wantWhole, wantDamaged = []uint32{1, 3, 4}, []uint32{2}
		}
		if whole, bad := s.readRows(w, rows...); !slices.Equal(whole, wantWhole) || !slices.Equal(bad, wantDamaged) {
			t.Errorf("%s byte %d of part %d: rows %v are whole and rows %v are damaged", what, at, part, whole, bad)
		}
	}
	check("written, ", 0, 0, false)
	rng := rand.New(rand.NewChaCha8([32]byte{2}))
	for i := range positions {
		part := i % 2
		body := parts[part]
		at := rng.IntN(len(body))
		switch i / 2 { // the ends first
		case 0:
			at = 0
		case 1:
			at = len(body) - 1
		}
		changed := slices.Clone(body)
		changed[at] ^= 1 << rng.IntN(8)
		put(part, changed)
		check("changed", part, at, true)
		put(part, body[:at])
		check("cut at", part, at, true)
		put(part, slices.Insert(slices.Clone(body), at, 0))
		check("inserted a byte at", part, at, true)
		put(part, body)
	}
	check("mended, ", 0, 0, false)
	put(0, rows[2].Blob[:schema.PartBytes]) // a part of another row, of the right size
	check("another row's bytes from", 0, 0, true)
	put(0, parts[1])
	put(1, parts[0])
	check("exchanged, ", 0, 0, true)
	put(0, parts[0])
	put(1, parts[1])
	put(2, []byte("more")) // the row says how many bytes are its own
	check("another part after", 1, len(parts[1]), false)
}
