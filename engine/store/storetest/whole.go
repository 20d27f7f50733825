package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// nanos returns the middle of a year, in ns since 1970.
func nanos(year int) int64 { return time.Date(year, 7, 1, 12, 0, 0, 999, time.UTC).UnixNano() }

// everything has one row of each kind for a PV. Its method write writes the rows, and its
// method check reads and compares them.
type everything struct {
	claim store.Claim
	rows  []store.JournalRow
	block store.Block
	tile  store.Rollup
	entry store.Channel
	mark  store.PVMark
	meta  store.PVMetadata
}

func newEverything(s *suite, pv string) everything {
	c := store.Claim{Shard: s.shard(), Writer: newWriter(), Epoch: 1}
	return everything{
		claim: c,
		rows:  []store.JournalRow{row(c.Shard, c.Writer, store.At(1, 1), pv), row(c.Shard, c.Writer, store.At(2, 1), pv)},
		block: block(pv, c.Writer, 1, 10, 20),
		tile:  rollup(pv, store.LevelOf(time.Second, store.Forever), 3),
		entry: store.Channel{PV: pv, Shards: []int{c.Shard}},
		mark:  mark(pv, c.Writer, 10, sample.Connected),
		meta:  store.PVMetadata{PV: pv, Time: 10, Metadata: sample.Metadata{Units: pv}},
	}
}

func (e *everything) write(ctx context.Context, s *suite) error {
	errs := []error{s.PutClaim(ctx, e.claim)}
	for _, r := range e.rows {
		errs = append(errs, s.PutJournal(ctx, r))
	}
	return errors.Join(append(errs, s.PutBlocks(ctx, e.block), s.PutRollups(ctx, e.tile), s.AddChannel(ctx, e.entry),
		s.PutMarks(ctx, e.mark), s.PutMetadata(ctx, e.meta))...)
}

func (e *everything) check(t *testing.T, s *suite) {
	t.Helper()
	pv := e.block.PV
	equal(t, "claims", s.claims(t, e.claim.Shard), []store.Claim{e.claim})
	equal(t, "journal", s.journal(t, e.claim.Shard, e.claim.Writer, e.claim.Sealed), e.rows)
	equal(t, "blocks", s.blocks(t, pv, e.block.Bucket, 0, 100), []store.Block{e.block})
	equal(t, "rollups", s.rollups(t, pv, e.tile.Level, 0, 100), []store.Rollup{e.tile})
	equal(t, "directory", s.channel(t, pv), []store.Channel{e.entry})
	equal(t, "marks", s.marks(t, pv, 0, 100), []store.PVMark{e.mark})
	equal(t, "metadata", s.metadata(t, pv, 100), []store.PVMetadata{e.meta})
}

func testNames(t *testing.T, s *suite) {
	names := []string{
		"x", "xx", "x/", "x:", "x/y.VAL$", `x.{"ts":{}}`, "x y", "x'; DROP TABLE block_forever; --", "x%00", "x\x01", "x\x7f",
		"Ä", "µ", "漢字", "\U0001f52d", "x\u0301", "X", strings.Repeat("x", 256-len(s.names)), strings.Repeat("y", 2000),
	}
	var all []everything
	for _, name := range names {
		e := newEverything(s, s.pv(name))
		must(t, e.write(t.Context(), s))
		all = append(all, e)
	}
	for i := range all {
		t.Run(fmt.Sprint(i), func(t *testing.T) { all[i].check(t, s) })
	}
}

func testReopen(t *testing.T, s *suite, reopen func(*testing.T, store.Store) store.Store) {
	e := newEverything(s, s.pv("a"))
	must(t, e.write(t.Context(), s))
	must(t, s.Seal(t.Context(), e.claim.Shard, e.claim.Writer, e.rows[0].At))
	e.claim.Sealed = e.rows[0].At
	e.rows = e.rows[1:]
	s.Store = reopen(t, s.Store)
	e.check(t, s)
}

func testCancelled(t *testing.T, s *suite) {
	e := newEverything(s, s.pv("a"))
	must(t, e.write(t.Context(), s))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for what, do := range map[string]func() error{
		"PutClaim":    func() error { return s.PutClaim(ctx, e.claim) },
		"Seal":        func() error { return s.Seal(ctx, e.claim.Shard, e.claim.Writer, store.At(9, 9)) },
		"PutJournal":  func() error { return s.PutJournal(ctx, e.rows[0]) },
		"PutBlocks":   func() error { return s.PutBlocks(ctx, e.block) },
		"PutRollups":  func() error { return s.PutRollups(ctx, e.tile) },
		"DropBucket":  func() error { _, err := s.DropBucket(ctx, e.block.PV, e.block.Bucket, s.soon()); return err },
		"AddChannel":  func() error { return s.AddChannel(ctx, e.entry) },
		"PutMarks":    func() error { return s.PutMarks(ctx, e.mark) },
		"PutMetadata": func() error { return s.PutMetadata(ctx, e.meta) },
		"Delete":      func() error { return s.Delete(ctx, e.block.PV) },
		"Claims":      func() error { _, err := s.Claims(ctx, e.claim.Shard); return err },
		"Journal": func() (last error) {
			for _, err := range s.Journal(ctx, e.claim.Shard, e.claim.Writer, 0, 0) {
				last = err
			}
			return last
		},
		"Blocks": func() (last error) {
			for _, err := range s.Blocks(ctx, e.block.PV, e.block.Bucket, 0, 100) {
				last = err
			}
			return last
		},
		"Rollups": func() (last error) {
			for _, err := range s.Rollups(ctx, e.block.PV, e.tile.Level, 0, 100) {
				last = err
			}
			return last
		},
		"MetadataAt": func() error { _, _, err := s.MetadataAt(ctx, e.block.PV, 100); return err },
	} {
		if err := do(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context returns %v", what, err)
		}
	}
	e.check(t, s)
}

func testConcurrent(t *testing.T, s *suite) { checkConcurrent(t, s, 8) }

// checkConcurrent lets eight writers write at the same time, each a number of times.
func checkConcurrent(t *testing.T, s *suite, each int) {
	t.Helper()
	const writers = 8
	shard := s.shard()
	all := make([][]everything, writers)
	for w := range all {
		for i := range each {
			all[w] = append(all[w], newEverything(s, s.pv(fmt.Sprintf("%d/%d", w, i))))
		}
	}
	g, ctx := errgroup.WithContext(t.Context())
	for w := range all {
		writer := newWriter()
		g.Go(func() error {
			for i := range all[w] {
				// Each writer writes rows of its own, and rows of a shard and a PV that it
				// shares with all other writers.
				err := errors.Join(
					all[w][i].write(ctx, s),
					s.PutJournal(ctx, row(shard, writer, store.At(1, uint32(i+1)), "x")),
					s.AddChannel(ctx, store.Channel{PV: s.pv("shared"), Shards: []int{w}}),
					s.Seal(ctx, shard, store.WriterID{1}, store.At(uint32(i+1), uint32(w+1))),
				)
				if err != nil {
					return err
				}
			}
			equal(t, "rows of one writer", len(s.journal(t, shard, writer, 0)), each)
			return nil
		})
	}
	must(t, g.Wait())
	for w := range all {
		for i := range all[w] {
			all[w][i].check(t, s)
		}
	}
	must(t, s.PutClaim(t.Context(), store.Claim{Shard: shard, Writer: store.WriterID{1}}))
	equal(t, "the highest position", s.claims(t, shard)[0].Sealed, store.At(uint32(each), writers))
	equal(t, "the union of all added entries", s.channel(t, s.pv("shared")), []store.Channel{
		{PV: s.pv("shared"), Shards: []int{0, 1, 2, 3, 4, 5, 6, 7}},
	})
}

func testSize(t *testing.T, s *suite) {
	size, err := s.Size(t.Context())
	must(t, err)
	if size < 0 {
		t.Errorf("the size of the archive is %d bytes", size)
	}
}
