package main

import (
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	. "github.com/onsi/gomega"

	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/storetest"
)

// role checks that `varve schema` creates a user for engines. The user can do everything that
// a store does, and nothing else. A changed Secret changes the password.
func (s *secure) role(t *testing.T, good storageOptions) {
	g := NewWithT(t)
	admin, engines := good, good
	admin.keyspace, engines.keyspace = "roles", "roles"
	admin.credentials = directory(t, map[string]string{"username": "cassandra", "password": "cassandra"})
	engines.credentials = directory(t, map[string]string{"username": "Engine's", "password": `it's "secret" $$`})
	grant := func() error {
		return runSchema(t, admin, "--role-credentials", engines.credentials, "--replication-factor", "1", "--tiers", "1d,7d,30d,90d,1y,2y,5y,10y")
	}
	g.Expect(grant()).To(Succeed())
	open := func(t *testing.T) store.Store {
		t.Helper()
		cfg, err := engines.cassandra(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Timeout = 30 * time.Second
		st, err := cassandrastore.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return st
	}
	storetest.Run(t, open, nil)
	st := open(t).(*cassandrastore.Store)
	_, err := st.Size(t.Context())
	g.Expect(err).NotTo(HaveOccurred(), "the disk guard needs this permission")
	_, err = st.Limit(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	_, err = st.JournalTTL(t.Context())
	g.Expect(err).NotTo(HaveOccurred())

	session := s.as(t, "Engine's", `it's "secret" $$`)
	for stmt, may := range map[string]bool{
		"SELECT * FROM roles.claim":                                        true,
		"SELECT * FROM varve.claim":                                        false,
		"SELECT * FROM system_auth.roles":                                  false,
		"SELECT * FROM system_views.clients":                               false,
		"INSERT INTO varve.schema_version (part, version) VALUES ('x', 1)": false,
		"CREATE TABLE roles.mine (k int PRIMARY KEY)":                      false,
		"ALTER TABLE roles.claim ADD mine int":                             false,
		"DROP TABLE roles.claim":                                           false,
		"DROP KEYSPACE roles":                                              false,
		"ALTER KEYSPACE roles WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}": false,
		"CREATE ROLE other WITH LOGIN = true":           false,
		"ALTER ROLE \"Engine's\" WITH SUPERUSER = true": false,
	} {
		err := session.Query(stmt).ExecContext(t.Context())
		if may != (err == nil) {
			t.Errorf("%s: %v", stmt, err)
		}
	}

	writeFile(t, engines.credentials, "password", nextPassword)
	g.Expect(grant()).To(Succeed())
	s.as(t, "Engine's", nextPassword)

	for name, test := range map[string]struct {
		args []string
		says []string
	}{
		"itself":         {[]string{"--role-credentials", admin.credentials}, []string{"--role-credentials", "cassandra"}},
		"more replicas":  {[]string{"--replication-factor", "2"}, []string{"--replication-factor 2", "datacenter1", "1 that answer"}},
		"empty password": {[]string{"--role-credentials", directory(t, map[string]string{"username": "x", "password": ""})}, []string{"--role-credentials", "empty"}},
	} {
		err := runSchema(t, admin, append(test.args, "--timeout", "30s")...)
		for _, text := range test.says {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: the error does not say %q: %v", name, text, err)
			}
		}
	}
	// A missing permission is reported at once.
	err = runSchema(t, engines, "--replication-factor", "2", "--role-credentials", directory(t, map[string]string{"username": "x", "password": "y"}))
	g.Expect(err).To(MatchError(And(ContainSubstring("permission"), ContainSubstring("--cassandra-credentials"))))
}

// as opens a session of a user.
func (s *secure) as(t *testing.T, username, password string) *gocql.Session {
	t.Helper()
	session, err := s.cluster(t, username, password).CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}
