package cassandra_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/test/cassandra"
)

const (
	outage       = 15 * time.Second
	recoverWait  = 4 * time.Minute
	shortTimeout = 2 * time.Second
)

func login(username, password string) func() (string, string, error) {
	return func() (string, string, error) { return username, password, nil }
}

// TestLong_Outages stops, kills and pauses a Cassandra node while a writer continues. It then
// checks that the store has all acknowledged rows.
func TestLong_Outages(t *testing.T) {
	node := cassandra.Start(t, "authenticator: PasswordAuthenticator", "commitlog_sync: batch")
	cfg := cql.Config{
		Hosts: []string{node.Addr()}, Login: login("cassandra", "cassandra"), Timeout: shortTimeout, Tiers: []store.Tier{store.Forever},
	}
	none := cql.Config{Hosts: cfg.Hosts, Timeout: time.Minute} // long enough for a busy machine
	wrong := none
	wrong.Login = login("cassandra", "guess")
	for name, c := range map[string]cql.Config{"a wrong password": wrong, "none": none} {
		if _, err := cassandrastore.Open(t.Context(), c); !errors.Is(err, cql.ErrCredentials) {
			t.Errorf("Open with %s returns %v", name, err)
		}
	}
	// Cassandra creates its first user some time after it starts to accept connections.
	err := schema.Create(t.Context(), cfg)
	for begun := time.Now(); errors.Is(err, cql.ErrCredentials) && time.Since(begun) < time.Minute; {
		wait(100 * time.Millisecond)
		err = schema.Create(t.Context(), cfg)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := startWriter(t, open(t, cfg))
	w.waitFor(t, 10)
	for _, test := range []struct {
		name   string
		outage func(t *testing.T)
	}{
		{"Stop", func(t *testing.T) { node.Stop(); elsewhere(t, cfg); wait(outage); node.Start(t) }},
		{"Kill", func(t *testing.T) { node.Kill(); node.Start(t) }},
		{"Pause", func(t *testing.T) { node.Pause(t); wait(outage); node.Resume(t) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := w.acknowledged()
			test.outage(t)
			back := time.Now()
			w.waitFor(t, len(before)+50)
			t.Logf("writing again %v after the node came back; %d rows so far", time.Since(back).Round(time.Millisecond), len(before))
		})
	}
	w.stop()
	w.check(t, open(t, cfg))
}

// wait waits while a node is down. It uses real time, because the driver's clock cannot be
// replaced.
func wait(d time.Duration) { <-time.After(d) }

// elsewhere checks the error of Open while the node does not answer: the error must name the
// node.
func elsewhere(t *testing.T, cfg cql.Config) {
	t.Helper()
	_, err := cassandrastore.Open(t.Context(), cfg)
	if refused := new(net.OpError); !errors.As(err, &refused) {
		t.Errorf("Open while the node is down returns %v", err)
	}
	t.Log(err)
}

// writer writes journal rows one after another. It repeats each row until it is acknowledged,
// as an engine does.
type writer struct {
	st     store.Store
	id     store.WriterID
	cancel context.CancelFunc
	ended  chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	acked   []store.Position
	slowest time.Duration // duration of the slowest call that failed
}

func startWriter(t *testing.T, st store.Store) *writer {
	ctx, cancel := context.WithCancel(t.Context())
	w := &writer{st: st, id: store.WriterID{1}, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		for i := uint32(0); ctx.Err() == nil; i++ {
			w.put(ctx, store.At(1+i/100, 1+i%100))
		}
	}()
	t.Cleanup(w.stop)
	return w
}

func (w *writer) put(ctx context.Context, at store.Position) {
	row := store.JournalRow{Shard: 1, Writer: w.id, At: at, Blob: make([]byte, 32<<10)}
	for ctx.Err() == nil {
		start := time.Now()
		err := w.st.PutJournal(ctx, row)
		w.mu.Lock()
		if err == nil {
			w.acked = append(w.acked, at)
			w.mu.Unlock()
			time.Sleep(5 * time.Millisecond) // about 200 rows per second are enough load
			return
		}
		w.slowest = max(w.slowest, time.Since(start))
		w.mu.Unlock()
		time.Sleep(100 * time.Millisecond) // pause between two tries
	}
}

func (w *writer) stop() {
	w.cancel()
	<-w.ended
}

func (w *writer) acknowledged() []store.Position {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.acked)
}

// waitFor waits until n rows are acknowledged.
func (w *writer) waitFor(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(recoverWait); len(w.acknowledged()) < n; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no row was acknowledged for %v", recoverWait)
		}
	}
}

// check checks that the store has all acknowledged rows, and that failed calls returned in
// time.
func (w *writer) check(t *testing.T, st store.Store) {
	t.Helper()
	there := map[store.Position]bool{}
	for r, err := range st.Journal(t.Context(), 1, w.id, 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		there[r.At] = true
	}
	missing := 0
	for _, at := range w.acked {
		if !there[at] {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d acknowledged rows are missing", missing, len(w.acked))
	}
	if w.slowest > 3*shortTimeout {
		t.Errorf("a call took %v to fail", w.slowest)
	}
	t.Logf("%d rows acknowledged; the slowest failure took %v", len(w.acked), w.slowest.Round(time.Millisecond))
}
