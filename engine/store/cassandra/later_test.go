package cassandra_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/test/cassandra"
)

// eventually waits until the state of a store begins with the given text.
func eventually(t *testing.T, p *store.Pending, text string) {
	t.Helper()
	deadline := time.After(4 * time.Minute)
	for !strings.HasPrefix(p.State(), text) || text == "" && p.State() != "" {
		select {
		case <-deadline:
			t.Fatalf("the state is %q, want %q", p.State(), text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func later(cfg cql.Config) *store.Pending {
	return cassandrastore.Later(func() (cql.Config, error) { return cfg, nil }, slog.New(slog.DiscardHandler))
}

// TestLaterWaitsForTheSchema checks that a store without a schema waits for the schema and
// then works like any other store.
func TestLaterWaitsForTheSchema(t *testing.T) {
	ks := cassandra.Shared(t)
	cfg := cql.Config{Hosts: []string{ks.Addr}, Keyspace: ks.Name, Timeout: 30 * time.Second, Tiers: []store.Tier{store.Forever}}
	p := later(cfg)
	defer p.Close()
	eventually(t, p, "WaitingForSchema: ")
	if _, err := p.Claims(t.Context(), 0); !errors.Is(err, store.ErrNotOpen) {
		t.Fatalf("a call before the store is open returns %v", err)
	}
	if err := schema.Create(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	eventually(t, p, "")
	if claims, err := p.Claims(t.Context(), 0); err != nil || len(claims) != 0 {
		t.Fatalf("the claims of the open store are %v, %v", claims, err)
	}
}

// TestLaterWaitsForTheTablesOfItsRelease checks that an engine whose release comes before the schema of its
// release waits for it.
func TestLaterWaitsForTheTablesOfItsRelease(t *testing.T) {
	cfg := config(t)
	s := &torn{T: t, session: connect(t, cfg), keyspace: cfg.Keyspace}
	for _, stmt := range asRelease010 {
		s.exec(stmt)
	}
	p := later(cfg)
	defer p.Close()
	eventually(t, p, "WaitingForSchema: the keyspace lacks tables or columns of this release; run varve schema of this release")
	s.must(schema.Create(t.Context(), cfg))
	eventually(t, p, "")
	if level, err := p.FormatLevel(t.Context()); level != 5 || err != nil {
		t.Errorf("the open archive has format level %d, %v", level, err)
	}
}

// TestLaterOfAClusterThatIsAway checks that the state reports an unreachable cluster, and that
// Close returns without waiting for it.
func TestLaterOfAClusterThatIsAway(t *testing.T) {
	p := later(cql.Config{Hosts: []string{"127.0.0.1:1"}, Timeout: time.Second})
	eventually(t, p, "StorageAway: ")
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
