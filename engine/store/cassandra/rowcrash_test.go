package cassandra_test

import (
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"

	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
)

// valve is a relay to a Cassandra node. It counts the bytes to the node, and ends all connections
// after a number of them, like a crash of the process that sends them.
//
//	store ──▶ valve ── the first bytes only ──▶ node
type valve struct {
	listener net.Listener
	node     string
	relays   sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	sent  int  // bytes to the node since arm was called
	limit int  // bytes that may pass; below 0 for any number
	shut  bool // the limit is reached
}

func newValve(t *testing.T, node string) *valve {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v := &valve{listener: l, node: node, limit: -1}
	v.relays.Go(v.accept)
	t.Cleanup(func() {
		v.end()
		_ = l.Close()
		v.relays.Wait()
	})
	return v
}

func (v *valve) accept() {
	for {
		client, err := v.listener.Accept()
		if err != nil {
			return // the test has ended
		}
		server, err := net.Dial("tcp4", v.node)
		if err != nil {
			_ = client.Close()
			continue
		}
		v.mu.Lock()
		v.conns = append(v.conns, client, server)
		shut := v.shut
		v.mu.Unlock()
		if shut {
			v.end()
			continue
		}
		v.relays.Go(func() { v.relay(server, client, v.allow) })
		v.relays.Go(func() { v.relay(client, server, func(n int) int { return n }) })
	}
}

// relay forwards bytes. allow returns how many of the next bytes may pass.
func (v *valve) relay(to, from net.Conn, allow func(n int) int) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		may := allow(n)
		if may > 0 {
			if _, failed := to.Write(buf[:may]); failed != nil {
				err = failed
			}
		}
		if may < n {
			v.end()
			return
		}
		if err != nil {
			_, _ = to.Close(), from.Close()
			return
		}
	}
}

func (v *valve) allow(n int) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.limit >= 0 && v.sent+n > v.limit {
		n, v.shut = v.limit-v.sent, true
	}
	v.sent += n
	return n
}

// arm lets only the next bytes pass.
func (v *valve) arm(limit int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sent, v.limit = 0, limit
}

// passed returns how many bytes have passed since arm was called.
func (v *valve) passed() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.sent
}

// end ends all connections, also those that follow.
func (v *valve) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut = true
	for _, c := range v.conns {
		_ = c.Close()
	}
	v.conns = nil
}

// TestCrashAtSomeBytesOfARowInParts ends a process after some of the bytes with which it writes a
// large journal row. A row that was acknowledged must be whole, another row must be whole or absent,
// and the rows before it and those of another writer must be whole. When the row is written again,
// as from a spool, it must be whole.
func TestCrashAtSomeBytesOfARowInParts(t *testing.T) { crashInRow(t, 6) }

// TestLong_CrashAtManyBytesOfARowInParts does the same at many more positions.
func TestLong_CrashAtManyBytesOfARowInParts(t *testing.T) { crashInRow(t, 100) }

func crashInRow(t *testing.T, positions int) {
	cfg := config(t)
	s := &torn{T: t, Store: open(t, cfg), session: connect(t, cfg), keyspace: cfg.Keyspace}
	other := store.WriterID{255}
	others := []store.JournalRow{bigRow(t, other, 1), smallRow(t, other, 2)}
	for _, r := range others {
		s.must(s.PutJournal(t.Context(), r))
	}
	write := func(w store.WriterID, limit int) (rows []store.JournalRow, acked bool, bytes int) {
		v := newValve(t, cfg.Hosts[0])
		st := v.open(t, cfg)
		rows = []store.JournalRow{smallRow(t, w, 1), bigRow(t, w, 2)}
		s.must(st.PutJournal(t.Context(), rows[0]))
		v.arm(limit)
		acked = st.PutJournal(t.Context(), rows[1]) == nil
		return rows, acked, v.passed()
	}
	rows, acked, total := write(store.WriterID{1}, -1)
	if whole, damaged := s.readRows(store.WriterID{1}, rows...); !acked || len(whole) != 2 || len(damaged) != 0 {
		t.Fatalf("without a crash the row is acknowledged: %v; rows %v are whole", acked, whole)
	}
	if size := len(rows[1].Blob); total < size {
		t.Fatalf("a row of %d bytes is written with %d bytes", size, total)
	}
	rng := rand.New(rand.NewChaCha8([32]byte{3}))
	count := map[string]int{}
	for i := range positions {
		at := rng.IntN(total)
		switch {
		case i == 0:
			at = 0
		case i == 1:
			at = 4 * total // everything passes, even if requests are repeated
		case i%2 == 0:
			at = total - 1 - rng.IntN(600) // in the row after its parts
		}
		w := store.WriterID{2, byte(i), byte(i >> 8)}
		rows, acked, _ := write(w, at)
		whole, damaged := s.readRows(w, rows...)
		switch there := slices.Contains(whole, 2); {
		case !slices.Contains(whole, 1) || len(damaged) > 0 || acked && !there:
			t.Errorf("after %d bytes: rows %v are whole and rows %v are damaged; row 2 was acknowledged: %v", at, whole, damaged, acked)
		case acked:
			count["acknowledged"]++
		case there:
			count["whole"]++
		default:
			count["absent"]++
		}
		s.must(s.PutJournal(t.Context(), rows[1]))
		if whole, damaged := s.readRows(w, rows...); len(whole) != 2 || len(damaged) > 0 {
			t.Errorf("after %d bytes, and a repeated write: rows %v are whole and rows %v are damaged", at, whole, damaged)
		}
	}
	if whole, damaged := s.readRows(other, others...); len(whole) != 2 || len(damaged) > 0 {
		t.Errorf("of the other writer, rows %v are whole and rows %v are damaged", whole, damaged)
	}
	t.Logf("a row of %d bytes was cut: %v", total, count)
	if count["absent"] == 0 || count["acknowledged"] == 0 {
		t.Errorf("the cuts leave the row %v; some must keep it away, and some must not", count)
	}
}

// open opens the store through the valve.
func (v *valve) open(t *testing.T, cfg cql.Config) *cassandrastore.Store {
	t.Helper()
	cfg.Hosts = []string{v.listener.Addr().String()}
	return open(t, cfg)
}
