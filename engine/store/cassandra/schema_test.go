package cassandra_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/test/cassandra"
)

func TestSchemaIsCreatedOnce(t *testing.T) {
	cfg := config(t)
	if err := schema.Create(t.Context(), cfg); err != nil {
		t.Errorf("creating the schema again: %v", err)
	}
	var ttl, grace int
	var compression map[string]string
	session := connect(t, cfg)
	err := session.Query("SELECT default_time_to_live, gc_grace_seconds, compression FROM system_schema.tables "+
		"WHERE keyspace_name = ? AND table_name = 'journal'", cfg.Keyspace).ScanContext(t.Context(), &ttl, &grace, &compression)
	if err != nil {
		t.Fatal(err)
	}
	if ttl != 86400 || grace != 10800 || compression["enabled"] != "false" {
		t.Errorf("the journal has TTL %d s, gc_grace %d s, compression %v", ttl, grace, compression)
	}
}

func connect(t *testing.T, cfg cql.Config) *gocql.Session {
	t.Helper()
	cluster := gocql.NewCluster(cfg.Hosts...)
	if cfg.Login != nil {
		username, password, err := cfg.Login()
		if err != nil {
			t.Fatal(err)
		}
		cluster.Authenticator = gocql.PasswordAuthenticator{Username: username, Password: password}
	}
	cluster.ProtoVersion, cluster.Timeout = 5, 30*time.Second
	cluster.Logger = gocql.NewLogger(gocql.LogLevelNone)
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	good := config(t)
	session := connect(t, good)
	with := func(change func(*cql.Config)) cql.Config {
		cfg := good
		change(&cfg)
		return cfg
	}
	for _, test := range []struct {
		name string
		cfg  cql.Config
		is   error
		says []string
	}{
		{
			name: "no host", cfg: with(func(c *cql.Config) { c.Hosts = nil }),
			says: []string{"no host"},
		},
		{
			name: "no node at the address", cfg: with(func(c *cql.Config) { c.Hosts = []string{"127.0.0.1:1"} }),
			says: []string{"127.0.0.1:1", "refused"},
		},
		{
			name: "unknown host", cfg: with(func(c *cql.Config) { c.Hosts = []string{"nowhere.invalid"} }),
			says: []string{"nowhere.invalid"},
		},
		{
			name: "bad keyspace", cfg: with(func(c *cql.Config) { c.Keyspace = "a; DROP" }),
			says: []string{`"a; DROP"`},
		},
		{
			name: "no schema", cfg: with(func(c *cql.Config) { c.Keyspace = "nothing_here" }),
			is: schema.ErrNoSchema, says: []string{"nothing_here", "varve schema"},
		},
		{
			name: "wrong datacenter", cfg: with(func(c *cql.Config) { c.Datacenter = "moon" }),
			is: cql.ErrDatacenter, says: []string{`"moon"`, "datacenter1"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := cassandrastore.Open(t.Context(), test.cfg)
			expect(t, err, test.is, test.says...)
		})
	}
	t.Run("unknown level", func(t *testing.T) {
		err := session.Query("UPDATE " + good.Keyspace + ".schema_version SET version = 0 WHERE part = 'tables'").ExecContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = cassandrastore.Open(t.Context(), good)
		expect(t, err, store.ErrFormat, good.Keyspace, "level 0", "levels 5 to 6")
		expect(t, schema.Create(t.Context(), good), store.ErrFormat)
	})
}

func TestSchemaNeedsARealDatacenter(t *testing.T) {
	ks := cassandra.Shared(t)
	err := schema.Create(t.Context(), cql.Config{Hosts: []string{ks.Addr}, Keyspace: ks.Name, Datacenter: "moon"})
	expect(t, err, cql.ErrDatacenter, "datacenter1")
}

// TestSoleReplicaOfUsersIsNoted checks that the first call notes the single replica of Cassandra's users. The next call
// then finds replicas that another program has added, and repairs them: see TestNextStepOfReplication, "somebody altered
// it".
func TestSoleReplicaOfUsersIsNoted(t *testing.T) {
	cfg := config(t)
	cfg.ReplicationFactor, cfg.Log = 1, slog.New(slog.NewTextHandler(t.Output(), nil))
	if err := schema.Replicate(t.Context(), cfg, schema.Replication{}); err != nil {
		t.Fatal(err)
	}
	var settled int
	err := connect(t, cfg).Query("SELECT version FROM "+cfg.Keyspace+".schema_version WHERE part = 'replicas system_auth'").ScanContext(t.Context(), &settled)
	if err != nil || settled != 1 {
		t.Errorf("%d replicas are noted as complete: %v", settled, err)
	}
}

// TestTiersAreAdded checks that tables of other tiers can be added later, also while stores
// are open. Until then, a write to a missing tier fails with an error that says how to create
// its tables, and a read finds nothing.
func TestTiersAreAdded(t *testing.T) {
	cfg := config(t, store.Keep90d)
	st := open(t, cfg)
	now := time.Now().UnixNano()
	blk := func(r store.Tier) store.Block {
		return store.Block{BlockKey: store.BlockKey{PV: "A", Bucket: store.Hour.Of(now).In(r), Start: now}, End: now, Blob: []byte{1}}
	}
	tile := func(r store.Tier) store.Rollup {
		l := store.LevelOf(time.Second, r)
		return store.Rollup{PV: "A", Level: l, Tile: l.Tile(now), Stamp: now, Blob: []byte{1}}
	}
	count := func(r store.Tier) (n int) {
		t.Helper()
		for _, err := range st.Blocks(t.Context(), "A", blk(r).Bucket, now, now) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		for _, err := range st.Rollups(t.Context(), "A", tile(r).Level, tile(r).Tile, tile(r).Tile) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	names := []string{"tier 1y", cfg.Keyspace, "varve schema --tiers 1y"}
	expect(t, st.PutBlocks(t.Context(), blk(store.Keep90d), blk(store.Keep1y)), store.ErrNoTier, names...)
	expect(t, st.PutRollups(t.Context(), tile(store.Keep90d), tile(store.Keep1y)), store.ErrNoTier, names...)
	if n := count(store.Keep1y); n != 0 {
		t.Errorf("a read finds %d rows on a tier without tables", n)
	}
	if _, err := st.DropBucket(t.Context(), "A", blk(store.Keep1y).Bucket, now); err != nil {
		t.Error(err)
	}
	for i, tiers := range [][]store.Tier{{store.Keep1y}, nil} { // nil adds none
		cfg.Tiers = tiers
		if err := schema.Create(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		if err := st.PutBlocks(t.Context(), blk(store.Keep90d), blk(store.Keep1y)); err != nil {
			t.Error(err)
		}
		if err := st.PutRollups(t.Context(), tile(store.Keep90d), tile(store.Keep1y)); err != nil {
			t.Error(err)
		}
		if a, b := count(store.Keep90d), count(store.Keep1y); a != 2 || b != 2 {
			t.Errorf("a read finds %d and %d rows", a, b)
		}
		if has, err := st.Tiers(t.Context()); err != nil || !slices.Equal(has, []store.Tier{store.Forever, store.Keep90d, store.Keep1y}) {
			t.Errorf("%d: the store has the tiers %v, %v", i, has, err)
		}
	}
}

// TestLong_TiersBeyond2038NeedTheServers checks that Create refuses tiers whose rows expire
// later than the servers support.
func TestLong_TiersBeyond2038NeedTheServers(t *testing.T) {
	node := cassandra.Start(t, "storage_compatibility_mode: CASSANDRA_4", "sstable: {selected_format: big}")
	cfg := cql.Config{Hosts: []string{node.Addr()}, Timeout: 30 * time.Second}
	expect(t, schema.Create(t.Context(), cfg), schema.ErrCompatibility, "storage_compatibility_mode is CASSANDRA_4", "10y", "NONE")
	cfg.Tiers = []store.Tier{store.Keep1d}
	if err := schema.Create(t.Context(), cfg); err != nil {
		t.Errorf("without long tiers: %v", err)
	}
	st := open(t, cfg)
	now := time.Now().UnixNano()
	blk := store.Block{BlockKey: store.BlockKey{PV: "A", Bucket: store.Hour.Of(now).In(store.Keep1d), Start: now}, End: now + 1, Blob: []byte{1}}
	if err := st.PutBlocks(t.Context(), blk); err != nil {
		t.Error(err)
	}
}

// expect checks that err contains the words and, if is is not nil, wraps it.
func expect(t *testing.T, err, is error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("the error is %v, want %v", err, is)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error %q does not contain %q", err, w)
		}
	}
}
