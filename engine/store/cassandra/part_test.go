package cassandra_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/test/cassandra"
)

// torn is a keyspace in which tests damage rows in the same way as a crash.
type torn struct {
	*testing.T
	*cassandrastore.Store
	session  *gocql.Session
	keyspace string
}

func newTorn(t *testing.T) *torn {
	cfg := config(t)
	return &torn{T: t, Store: open(t, cfg), session: connect(t, cfg), keyspace: cfg.Keyspace}
}

func (s *torn) exec(stmt string, values ...any) {
	s.Helper()
	if err := s.session.Query(strings.ReplaceAll(stmt, "@", s.keyspace+"."), values...).ExecContext(s.Context()); err != nil {
		s.Fatal(err)
	}
}

func (s *torn) count(table string) (n int) {
	s.Helper()
	if err := s.session.Query("SELECT COUNT(*) FROM "+s.keyspace+"."+table).ScanContext(s.Context(), &n); err != nil {
		s.Fatal(err)
	}
	return n
}

func (s *torn) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// blob returns a blob that needs several parts.
func blob(fill byte) []byte { return bytes.Repeat([]byte{fill}, 1<<20+1) }

func large(pv string, n uint32, fill byte) store.Block {
	return store.Block{
		BlockKey: store.BlockKey{PV: pv, Bucket: store.Day.Of(0), Start: int64(n), Writer: store.WriterID{1}, N: n},
		End:      int64(n) + 10, Count: 1, Type: sample.Struct, Blob: blob(fill),
	}
}

func (s *torn) blocks(pv string) (blocks []store.Block, err error) {
	for b, err := range s.Blocks(s.Context(), pv, store.Day.Of(0), 0, 1e6) {
		if err != nil {
			return blocks, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// TestTornRows checks two kinds of incomplete rows. If a writer died after it wrote the parts
// of a row and before it wrote the row, the journal continues without the row. If the parts of
// a row are missing, the row says so, and the other rows are read.
func TestTornRows(t *testing.T) {
	s := newTorn(t)
	w := store.WriterID{1}
	row := func(n uint32) store.JournalRow {
		return store.JournalRow{Shard: 1, Writer: w, At: store.At(1, n), Index: []byte{byte(n)}, Blob: blob(byte(n))}
	}
	for n := uint32(1); n <= 4; n++ {
		s.must(s.PutJournal(t.Context(), row(n)))
	}
	var damaged []uint32
	read := func() (at []uint32, err error) {
		damaged = nil
		for r, err := range s.Journal(t.Context(), 1, w, 0, 0) {
			if err != nil {
				return at, err
			}
			if r.Damage != nil {
				damaged = append(damaged, r.At.Seq())
				if r.Blob != nil || !errors.Is(r.Damage, cassandrastore.ErrTorn) {
					t.Errorf("the damaged row %d has %d bytes, %v", r.At.Seq(), len(r.Blob), r.Damage)
				}
				continue
			}
			if want := row(r.At.Seq()); !bytes.Equal(r.Blob, want.Blob) || !bytes.Equal(r.Index, want.Index) {
				t.Errorf("row %d is not what was written", r.At.Seq())
			}
			at = append(at, r.At.Seq())
		}
		return at, nil
	}
	s.exec("DELETE FROM @journal WHERE shard = 1 AND writer = ? AND n = 1 AND seq = 2", w[:])
	if at, err := read(); err != nil || !slices.Equal(at, []uint32{1, 3, 4}) {
		t.Errorf("with only the parts of row 2, a read returns the rows %v, %v", at, err)
	}
	s.must(s.PutJournal(t.Context(), row(2))) // the writer repeats the write
	if at, err := read(); err != nil || !slices.Equal(at, []uint32{1, 2, 3, 4}) {
		t.Errorf("after the write was repeated, a read returns the rows %v, %v", at, err)
	}
	for _, part := range []int{0, 1, 2} {
		s.exec("DELETE FROM @journal_part WHERE shard = 1 AND writer = ? AND n = 1 AND seq = 3 AND part = ?", w[:], part)
		if at, err := read(); err != nil || !slices.Equal(at, []uint32{1, 2, 4}) || !slices.Equal(damaged, []uint32{3}) {
			t.Errorf("without part %d of row 3, a read returns the rows %v and the damaged rows %v, %v", part, at, damaged, err)
		}
		s.must(s.PutJournal(t.Context(), row(3)))
	}
}

// TestTornBlocks checks that readers do not see the parts of an interrupted write, that the
// next try replaces them, and that Delete removes them.
func TestTornBlocks(t *testing.T) {
	s := newTorn(t)
	pv := "T:TORN"
	s.must(s.AddChannel(t.Context(), store.Channel{PV: pv, Starts: []store.Bucket{store.Day.Of(0)}}))
	first, second := large(pv, 1, 1), large(pv, 2, 2)
	s.must(s.PutBlocks(t.Context(), first, second))
	perBlock := s.count("block_part_forever") / 2

	// The writer died before it wrote the row.
	s.exec("DELETE FROM @block_forever WHERE pv = ? AND bucket = ? AND start = 2", pv, int64(second.Bucket))
	if got, err := s.blocks(pv); err != nil || len(got) != 1 || !bytes.Equal(got[0].Blob, first.Blob) {
		t.Errorf("with parts only, a read returns %d blocks, %v", len(got), err)
	}
	s.must(s.PutBlocks(t.Context(), second))
	if n := s.count("block_part_forever"); n != 2*perBlock {
		t.Errorf("after the write was repeated, there are %d parts, want %d", n, 2*perBlock)
	}
	// The row exists and its parts are gone. The block says so, and has no truncated blob.
	s.exec("DELETE FROM @block_part_forever WHERE pv = ? AND bucket = ? AND start = 2 AND writer = ? AND n = 2", pv, int64(second.Bucket), second.Writer[:])
	if got, err := s.blocks(pv); err != nil || len(got) != 2 || got[0].Damage != nil || got[1].Blob != nil || !errors.Is(got[1].Damage, cassandrastore.ErrTorn) {
		t.Errorf("without parts, a read returns %v, %v", got, err)
	}
	if got, found, err := s.LastBlock(t.Context(), pv, second.Bucket, 5); err != nil || !found || got.Blob != nil || !errors.Is(got.Damage, cassandrastore.ErrTorn) {
		t.Errorf("without parts, LastBlock returns %v, %v, %v", got, found, err)
	}
	s.must(s.PutBlocks(t.Context(), second))

	// An interrupted Delete left the parts of deleted rows. The next Delete removes them.
	s.exec("DELETE FROM @block_forever WHERE pv = ? AND bucket = ?", pv, int64(second.Bucket))
	for range 2 {
		s.must(s.Delete(t.Context(), pv))
		for _, table := range []string{"block_forever", "block_part_forever", "block_apart_forever", "channel"} {
			if n := s.count(table); n != 0 {
				t.Errorf("after the deletion %s has %d rows", table, n)
			}
		}
	}
	// The PV begins again with the same keys.
	s.must(s.PutBlocks(t.Context(), first))
	if got, err := s.blocks(pv); err != nil || len(got) != 1 || !bytes.Equal(got[0].Blob, first.Blob) {
		t.Errorf("after the PV began again, a read returns %d blocks, %v", len(got), err)
	}
}

// TestPartsOfEarlierVersionsGo checks that no part of an earlier version of a block stays,
// regardless of the sizes of the versions.
func TestPartsOfEarlierVersionsGo(t *testing.T) {
	s := newTorn(t)
	b := large("T:AGAIN", 1, 1)
	for _, size := range []int{3 << 20, 200 << 10, 1 << 20, 600 << 10} {
		b.Blob = make([]byte, size)
		s.must(s.PutBlocks(t.Context(), b))
		if n, want := s.count("block_part_forever"), (size+512<<10-1)/(512<<10); n != want {
			t.Errorf("a block of %d bytes has %d parts, want %d", size, n, want)
		}
	}
}

// TestLong_LargeWritesAndOutages kills the node while large rows and blocks are written. The
// store must have all acknowledged writes. All other writes must be complete or absent.
func TestLong_LargeWritesAndOutages(t *testing.T) {
	node := cassandra.Start(t, "commitlog_sync: batch")
	cfg := cql.Config{Hosts: []string{node.Addr()}, Timeout: shortTimeout, InFlightBytes: 2 << 20, Tiers: []store.Tier{store.Forever}}
	if err := schema.Create(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	s := &torn{T: t, Store: open(t, cfg)}
	acked := map[string]bool{}
	next := uint32(1)
	for _, kill := range []int{3, 8} { // number of acknowledged writes before the kill
		noted := make(chan string)
		var killed atomic.Bool
		var writing, killing sync.WaitGroup
		for i := range uint32(4) { // each continues until the node is killed
			writing.Go(func() {
				for n := next + i; !killed.Load(); n += 4 {
					if s.PutJournal(t.Context(), outageRow(n)) == nil {
						noted <- fmt.Sprint("row ", n)
					}
					if s.PutBlocks(t.Context(), large(outagePV, n, byte(n))) == nil {
						noted <- fmt.Sprint("block ", n)
					}
				}
			})
		}
		go func() { writing.Wait(); close(noted) }()
		for what := range noted {
			acked[what] = true
			if kill--; kill == 0 {
				killed.Store(true)
				killing.Go(node.Kill)
			}
		}
		killing.Wait()
		next += 1000
		node.Start(t)
		s.Store = reopened(t, cfg)
		there := s.wholes()
		for what := range acked {
			if !there[what] {
				t.Errorf("%s was acknowledged and is missing", what)
			}
		}
		t.Logf("%d writes were acknowledged before the kill; the store has %d writes", len(acked), len(there))
	}
}

const outagePV = "T:OUTAGE"

func outageRow(n uint32) store.JournalRow {
	return store.JournalRow{Shard: 1, Writer: store.WriterID{1}, At: store.At(1, n), Blob: bytes.Repeat([]byte{byte(n)}, 2<<20+int(n))}
}

// wholes returns the rows and blocks that exist. It fails the test if one of them is
// incomplete.
func (s *torn) wholes() map[string]bool {
	s.Helper()
	there := map[string]bool{}
	for r, err := range s.Journal(s.Context(), 1, store.WriterID{1}, 0, 0) {
		s.must(err)
		if !bytes.Equal(r.Blob, outageRow(r.At.Seq()).Blob) {
			s.Errorf("row %d is not what was written", r.At.Seq())
		}
		there[fmt.Sprint("row ", r.At.Seq())] = true
	}
	blocks, err := s.blocks(outagePV)
	s.must(err)
	for _, b := range blocks {
		if !bytes.Equal(b.Blob, blob(byte(b.N))) {
			s.Errorf("block %d is not what was written", b.N)
		}
		there[fmt.Sprint("block ", b.N)] = true
	}
	return there
}

// reopened waits until the cluster answers again, and opens the store.
func reopened(t *testing.T, cfg cql.Config) *cassandrastore.Store {
	t.Helper()
	for deadline := time.Now().Add(recoverWait); ; wait(100 * time.Millisecond) {
		st, err := cassandrastore.Open(t.Context(), cfg)
		if err == nil {
			t.Cleanup(func() { _ = st.Close() })
			return st
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
