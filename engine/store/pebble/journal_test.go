package pebble_test

import (
	"crypto/rand"
	"testing"
	"time"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

func positions(t *testing.T, st *pebble.Store, shard int, w store.WriterID) (at []store.Position) {
	t.Helper()
	for r, err := range st.Journal(t.Context(), shard, w, 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, r.At)
	}
	return at
}

// TestSealedRowsAreDeleted checks that a journal does not grow without bound. A sealed row is
// deleted when a later position is sealed, and all rows of a writer are deleted with its
// claim.
func TestSealedRowsAreDeleted(t *testing.T) {
	st, err := pebble.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	checkSealedRows(t, st, 16<<10)
}

// TestLong_SealedRowsAreDeleted is TestSealedRowsAreDeleted on disk, where Pebble keeps more
// logs. The rows are larger to match.
func TestLong_SealedRowsAreDeleted(t *testing.T) {
	checkSealedRows(t, open(t, t.TempDir(), pebble.Options{}), 256<<10)
}

// checkSealedRows writes and seals rows with blobs of the given size.
func checkSealedRows(t *testing.T, st *pebble.Store, blobSize int) {
	defer st.Close()
	blob := make([]byte, blobSize)
	_, _ = rand.Read(blob)
	w, other := store.WriterID{1}, store.WriterID{2}
	put := func(w store.WriterID, at store.Position) {
		if err := st.PutJournal(t.Context(), store.JournalRow{Shard: 1, Writer: w, At: at, Blob: blob}); err != nil {
			t.Fatal(err)
		}
	}
	put(other, store.At(1, 1))
	const rounds, each = 40, 20
	for round := range uint32(rounds) {
		for seq := range uint32(each) {
			put(w, store.At(round+1, seq+1))
		}
		if err := st.Seal(t.Context(), 1, w, store.At(round+1, each)); err != nil {
			t.Fatal(err)
		}
	}
	if at := positions(t, st, 1, w); len(at) != each || at[0] != store.At(rounds, 1) {
		t.Errorf("%d rows are left, from position %x on; only the rows that were sealed last must be left", len(at), at[0])
	}
	waitForSize(t, st, rounds*each*int64(len(blob))/2)
	c := store.Claim{Shard: 1, Writer: w, Epoch: 1}
	if err := st.PutClaim(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	c.Sealed = store.At(rounds, each)
	if err := st.DropClaim(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if at := positions(t, st, 1, w); len(at) != 0 {
		t.Errorf("%d rows of a dropped writer are left", len(at))
	}
	if at := positions(t, st, 1, other); len(at) != 1 {
		t.Errorf("the other writer has %d rows, want 1", len(at))
	}
}

// waitForSize waits until the archive is smaller than the given number of bytes. Pebble
// deletes files in the background.
func waitForSize(t *testing.T, st *pebble.Store, most int64) {
	t.Helper()
	for deadline := time.Now().Add(4 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		size, err := st.Size(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if 0 < size && size < most {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the archive has %d bytes, want less than %d", size, most)
		}
	}
}
