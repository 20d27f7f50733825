package schema_test

import (
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store/cassandra/cql"
)

func login(username, password string) func() (string, string, error) {
	return func() (string, string, error) { return username, password, nil }
}

// connect returns a plain session of the driver.
func connect(t *testing.T, cfg cql.Config) *gocql.Session {
	t.Helper()
	username, password, err := cfg.Login()
	if err != nil {
		t.Fatal(err)
	}
	cluster := gocql.NewCluster(cfg.Hosts...)
	cluster.Authenticator = gocql.PasswordAuthenticator{Username: username, Password: password}
	cluster.ProtoVersion, cluster.Timeout = 5, 30*time.Second
	cluster.Logger = gocql.NewLogger(gocql.LogLevelNone)
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}
