package storetest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"iter"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"varve.dev/varve/engine/store"
)

// suite holds the store under test and the names that each test uses.
type suite struct {
	store.Store
	names  string // prefix of all PV names of the test
	shards int    // the shard that was used last
}

// Run tests a store. open opens the store and closes it when the test ends. If reopen is not
// nil, it closes a store and opens the same one again, so that Run can check that all rows
// persist.
func Run(t *testing.T, open func(t *testing.T) store.Store, reopen func(t *testing.T, st store.Store) store.Store) {
	shards, err := rand.Int(rand.Reader, big.NewInt(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{Store: open(t), shards: 1000 * int(shards.Int64())}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"Claims", testClaims}, {"SealIsMonotone", testSealIsMonotone}, {"DropClaim", testDropClaim},
		{"ClaimThatWasPutSince", testClaimThatWasPutSince},
		{"JournalOrder", testJournalOrder}, {"JournalResumes", testJournalResumes},
		{"JournalIsIdempotent", testJournalIsIdempotent}, {"JournalKeepsApart", testJournalKeepsApart},
		{"JournalLimits", testJournalLimits}, {"JournalStopsEarly", testJournalStopsEarly}, {"JournalHasNoGaps", testJournalHasNoGaps},
		{"BlocksOverlap", testBlocksOverlap}, {"BlocksOrder", testBlocksOrder}, {"BlockFields", testBlockFields},
		{"BlockGrows", testBlockGrows}, {"BlocksManyAndLarge", testBlocksManyAndLarge}, {"LastBlock", testLastBlock},
		{"CarriedForwardBlock", testCarriedForwardBlock}, {"BlockTimes", testBlockTimes}, {"BlockTooLarge", testBlockTooLarge},
		{"LargeRows", testLargeRows}, {"LargeBlocks", testLargeBlocks}, {"LargeBlockIsWrittenAgain", testLargeBlockIsWrittenAgain},
		{"LargeBlockIsWhole", testLargeBlockIsWhole}, {"LargeBlocksAreDeleted", testLargeBlocksAreDeleted},
		{"LargeWritesBrokenOff", testLargeWritesBrokenOff},
		{"Rungs", testTiers}, {"DropBucket", testDropBucket}, {"DropBucketKeepsYounger", testDropBucketKeepsYounger}, {"Rollups", testRollups}, {"RollupOrder", testRollupOrder},
		{"RollupLimits", testRollupLimits}, {"Expire", testExpire},
		{"Channel", testChannel}, {"Channels", testChannels},
		{"Cutoff", testCutoff}, {"Marks", testMarks}, {"MarkFields", testMarkFields},
		{"Metadata", testMetadata}, {"MetadataFields", testMetadataFields}, {"MetadataHistory", testMetadataHistory},
		{"Delete", testDelete}, {"Names", testNames}, {"Cancelled", testCancelled}, {"Concurrent", testConcurrent}, {"Size", testSize},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.names = fmt.Sprintf("%s:%s:", test.name, rand.Text()[:8])
			test.run(t, s)
		})
	}
	if reopen != nil {
		t.Run("Reopen", func(t *testing.T) {
			s.names = fmt.Sprintf("Reopen:%s:", rand.Text()[:8])
			testReopen(t, s, reopen)
		})
	}
}

// shard returns a shard that no other test uses.
func (s *suite) shard() int {
	s.shards++
	return s.shards
}

// pv returns the name of a PV of this test.
func (s *suite) pv(name string) string { return s.names + name }

// newWriter returns a random writer.
func newWriter() (w store.WriterID) {
	_, _ = rand.Read(w[:]) // it never fails
	return w
}

// must ends the test if there is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// collect returns all rows of a sequence, and ends the test on an error.
func collect[T any](t *testing.T, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var rows []T
	for row, err := range seq {
		must(t, err)
		rows = append(rows, row)
	}
	return rows
}

// equal compares two values. It treats NaN as equal to itself, and empty bytes as equal to
// nil.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty(), blobs); diff != "" {
		t.Errorf("%s differ (-want +got):\n%s", what, diff)
	}
}

// blobs compares byte slices as a whole, because cmp would compare them byte by byte.
var blobs = cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, cmp.Comparer(bytes.Equal))
