package cassandra_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/test/cassandra"
)

func TestSchemaIsCreatedOnce(t *testing.T) {
	cfg := config(t)
	if err := cassandrastore.CreateSchema(t.Context(), cfg); err != nil {
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

func connect(t *testing.T, cfg cassandrastore.Config) *gocql.Session {
	t.Helper()
	cluster := gocql.NewCluster(cfg.Hosts...)
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
	with := func(change func(*cassandrastore.Config)) cassandrastore.Config {
		cfg := good
		change(&cfg)
		return cfg
	}
	for _, test := range []struct {
		name string
		cfg  cassandrastore.Config
		is   error
		says []string
	}{
		{
			name: "no host", cfg: with(func(c *cassandrastore.Config) { c.Hosts = nil }),
			says: []string{"no host"},
		},
		{
			name: "nobody there", cfg: with(func(c *cassandrastore.Config) { c.Hosts = []string{"127.0.0.1:1"} }),
			says: []string{"127.0.0.1:1", "refused"},
		},
		{
			name: "unknown host", cfg: with(func(c *cassandrastore.Config) { c.Hosts = []string{"nowhere.invalid"} }),
			says: []string{"nowhere.invalid"},
		},
		{
			name: "bad keyspace", cfg: with(func(c *cassandrastore.Config) { c.Keyspace = "a; DROP" }),
			says: []string{`"a; DROP"`},
		},
		{
			name: "no schema", cfg: with(func(c *cassandrastore.Config) { c.Keyspace = "nothing_here" }),
			is: cassandrastore.ErrNoSchema, says: []string{"nothing_here", "varve schema"},
		},
		{
			name: "wrong datacenter", cfg: with(func(c *cassandrastore.Config) { c.Datacenter = "moon" }),
			is: cassandrastore.ErrDatacenter, says: []string{`"moon"`, "datacenter1"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := cassandrastore.Open(t.Context(), test.cfg)
			expect(t, err, test.is, test.says...)
		})
	}
	t.Run("old version", func(t *testing.T) {
		err := session.Query("UPDATE " + good.Keyspace + ".schema_version SET version = 0 WHERE part = 'tables'").ExecContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = cassandrastore.Open(t.Context(), good)
		expect(t, err, cassandrastore.ErrVersion, good.Keyspace, "version 0", "version 2")
		expect(t, cassandrastore.CreateSchema(t.Context(), good), cassandrastore.ErrVersion)
	})
}

func TestSchemaNeedsARealDatacenter(t *testing.T) {
	ks := cassandra.Shared(t)
	err := cassandrastore.CreateSchema(t.Context(), cassandrastore.Config{Hosts: []string{ks.Addr}, Keyspace: ks.Name, Datacenter: "moon"})
	expect(t, err, cassandrastore.ErrDatacenter, "datacenter1")
}

// expect checks that an error is one, if that is not nil, and has words in it.
func expect(t *testing.T, err, is error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("the error is %v, not %v", err, is)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error %q does not say %q", err, w)
		}
	}
}
