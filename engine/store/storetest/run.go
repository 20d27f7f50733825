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
	s := newSuite(t, open)
	s.run(t, smallTests)
	s.run(t, largeTests)
	if reopen != nil { // last, because the store that reopen opens may close with its test
		s.run(t, []test{{"Reopen", func(t *testing.T, s *suite) { testReopen(t, s, reopen) }}})
	}
}

// RunLong repeats some tests of Run with larger blobs and more rows.
func RunLong(t *testing.T, open func(t *testing.T) store.Store) {
	newSuite(t, open).run(t, []test{
		{"Concurrent", func(t *testing.T, s *suite) { checkConcurrent(t, s, 20) }},
		{"LargeRows", func(t *testing.T, s *suite) { checkLargeRows(t, s, store.MaxBlob) }},
		{"LargeBlocks", func(t *testing.T, s *suite) { checkLargeBlocks(t, s, store.MaxBlob) }},
	})
}

func newSuite(t *testing.T, open func(t *testing.T) store.Store) *suite {
	shards, err := rand.Int(rand.Reader, big.NewInt(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return &suite{Store: open(t), shards: 1000 * int(shards.Int64())}
}

// test is a named test of a store.
type test struct {
	name string
	run  func(*testing.T, *suite)
}

var (
	smallTests = []test{
		{"Claims", testClaims}, {"SealIsMonotone", testSealIsMonotone}, {"DropClaim", testDropClaim},
		{"ClaimThatWasPutSince", testClaimThatWasPutSince},
		{"JournalOrder", testJournalOrder}, {"JournalResumes", testJournalResumes},
		{"JournalIsIdempotent", testJournalIsIdempotent}, {"JournalKeepsApart", testJournalKeepsApart},
		{"JournalStopsEarly", testJournalStopsEarly}, {"JournalHasNoGaps", testJournalHasNoGaps}, {"JournalWhere", testJournalWhere},
		{"JournalBehindExpiredRows", testJournalBehindExpiredRows}, {"JournalRowsWrittenAgain", testJournalRowsWrittenAgain},
		{"BlocksOverlap", testBlocksOverlap}, {"BlocksOrder", testBlocksOrder}, {"BlockFields", testBlockFields},
		{"BlockGrows", testBlockGrows}, {"LastBlock", testLastBlock},
		{"CarriedForwardBlock", testCarriedForwardBlock}, {"BlockTimes", testBlockTimes}, {"BlockTooLarge", testBlockTooLarge},
		{"Rollups", testRollups}, {"RollupOrder", testRollupOrder}, {"RollupLimits", testRollupLimits}, {"Expire", testExpire},
		{"Channel", testChannel}, {"Channels", testChannels},
		{"Cutoff", testCutoff}, {"Marks", testMarks}, {"LatestMarks", testLatestMarks}, {"MarkFields", testMarkFields},
		{"Metadata", testMetadata}, {"MetadataFields", testMetadataFields}, {"MetadataHistory", testMetadataHistory},
		{"Delete", testDelete}, {"Names", testNames}, {"Cancelled", testCancelled}, {"Concurrent", testConcurrent}, {"Size", testSize},
	}
	// The large tests come last, and those with the largest blobs at the end. With the race
	// detector, Pebble overwrites freed blocks byte by byte, so rows next to large ones are
	// slow to read.
	largeTests = []test{
		{"Tiers", testTiers}, {"DropBucket", testDropBucket}, {"DropBucketKeepsYounger", testDropBucketKeepsYounger},
		{"BlocksManyAndLarge", testBlocksManyAndLarge}, {"LargeBlockIsWhole", testLargeBlockIsWhole},
		{"LargeBlocksAreDeleted", testLargeBlocksAreDeleted}, {"LargeBlockIsWrittenAgain", testLargeBlockIsWrittenAgain},
		{"LargeWritesBrokenOff", testLargeWritesBrokenOff},
		{"LargeRows", testLargeRows}, {"LargeBlocks", testLargeBlocks}, {"JournalLimits", testJournalLimits},
	}
)

// run runs tests one after the other. Each has PVs of its own.
func (s *suite) run(t *testing.T, tests []test) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s.names = fmt.Sprintf("%s:%s:", test.name, rand.Text()[:8])
			test.run(t, s)
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
// nil. It does not compare when journal rows were written, because the store decides that.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(store.JournalRow{}, "Written"), blobs); diff != "" {
		t.Errorf("%s differ (-want +got):\n%s", what, diff)
	}
}

// blobs compares byte slices as a whole, because cmp would compare them byte by byte.
var blobs = cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, cmp.Comparer(bytes.Equal))
