package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	. "github.com/onsi/gomega"

	"varve.dev/varve/engine/ca"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/spool"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/ioc"
	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/authority"
	"varve.dev/varve/test/cassandra"
)

const (
	password     = "first pass word "
	nextPassword = "next-pass-word"
)

// secure is a Cassandra node that requires a password and a client certificate. The node's own
// certificate is for localhost, and not for 127.0.0.1, the address that the driver discovers.
type secure struct {
	node *cassandra.Node
	ca   *authority.Authority
	cql  *gocql.Session // of the administrator
	// host and address are contact points, by name and by number.
	host, address string
}

func startSecure(t *testing.T) *secure {
	t.Helper()
	s := &secure{ca: authority.New(t)}
	cert, key := s.ca.Issue(t, "localhost")
	dir := directory(t, map[string]string{"server.pem": string(key) + string(cert), "trust.pem": string(s.ca.PEM())})
	// Set the delay to 0, so that the first user exists soon after the node serves.
	t.Setenv("JAVA_TOOL_OPTIONS", "-Dcassandra.superuser_setup_delay_ms=0")
	s.node = cassandra.Start(t, "authenticator: PasswordAuthenticator", "authorizer: CassandraAuthorizer",
		"credentials_validity: 0ms", "client_encryption_options:",
		"  enabled: true", "  optional: false", "  require_client_auth: true",
		"  ssl_context_factory: {class_name: org.apache.cassandra.security.PEMBasedSslContextFactory}",
		"  keystore: "+dir+"/server.pem", "  truststore: "+dir+"/trust.pem")
	s.host, s.address = net.JoinHostPort("localhost", strconv.Itoa(s.node.Port)), s.node.Addr()
	cluster := s.cluster(t, "cassandra", "cassandra")
	NewWithT(t).Eventually(func() (err error) { s.cql, err = cluster.CreateSession(); return err }).WithTimeout(3 * time.Minute).Should(Succeed())
	t.Cleanup(s.cql.Close)
	return s
}

// cluster returns the configuration with which a user connects.
func (s *secure) cluster(t *testing.T, username, password string) *gocql.ClusterConfig {
	t.Helper()
	cluster := gocql.NewCluster(s.host)
	cluster.ProtoVersion, cluster.Timeout = 5, 30*time.Second
	cluster.Logger = gocql.NewLogger(gocql.LogLevelNone)
	cluster.SslOpts = &gocql.SslOptions{Config: &tls.Config{
		ServerName: "localhost", RootCAs: s.ca.Pool(), Certificates: []tls.Certificate{s.ca.Certificate(t)}, MinVersion: tls.VersionTLS12,
	}}
	cluster.Authenticator = gocql.PasswordAuthenticator{Username: username, Password: password}
	return cluster
}

// exec runs a statement as the administrator.
func (s *secure) exec(t *testing.T, format string, args ...any) {
	t.Helper()
	stmt := fmt.Sprintf(format, args...)
	if err := s.cql.Query(stmt).ExecContext(t.Context()); err != nil {
		t.Fatalf("%s: %v", stmt, err)
	}
}

// user creates a role and returns its Secret.
func (s *secure) user(t *testing.T, name, mayCreateOn string) map[string]string {
	t.Helper()
	s.exec(t, "CREATE ROLE %s WITH PASSWORD = '%s' AND LOGIN = true", name, password)
	s.exec(t, "GRANT CREATE ON %s TO %s", mayCreateOn, name)
	return map[string]string{"username": name + "\n", "password": password + "\n"}
}

// TestLong_ASecureCassandra runs scenarios on one node, one after another.
func TestLong_ASecureCassandra(t *testing.T) {
	s := startSecure(t)
	s.exec(t, "CREATE KEYSPACE ready WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}")
	maker, guest := s.user(t, "maker", "ALL KEYSPACES"), s.user(t, "guest", "KEYSPACE ready")
	good := storageOptions{
		hosts: []string{s.host}, keyspace: "varve", credentials: directory(t, maker), tls: true, tlsDir: directory(t, s.ca.Secret(t)),
	}
	t.Run("Schema", func(t *testing.T) { s.schemas(t, good, directory(t, guest)) })
	t.Run("Role", func(t *testing.T) { s.role(t, good) })
	t.Run("Mistakes", func(t *testing.T) { s.mistakes(t, good) })
	t.Run("RoundTrip", func(t *testing.T) { roundTrip(t, good) })
	t.Run("Rotation", func(t *testing.T) { s.rotation(t, good) })
}

// runSchema runs `varve schema`.
func runSchema(t *testing.T, o storageOptions, more ...string) error {
	t.Helper()
	args := []string{"schema", "--cassandra", strings.Join(o.hosts, ","), "--cassandra-keyspace", o.keyspace}
	for flag, value := range map[string]string{
		"--cassandra-credentials": o.credentials, "--cassandra-tls-dir": o.tlsDir, "--cassandra-tls-server-name": o.tlsServerName,
		"--cassandra-datacenter": o.datacenter,
	} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	root := newRoot()
	root.SetArgs(append(append(args, "--cassandra-tls="+strconv.FormatBool(o.tls)), more...))
	root.SetOut(&bytes.Buffer{})
	return root.ExecuteContext(t.Context())
}

// schemas creates tables in every way that the documentation describes.
func (s *secure) schemas(t *testing.T, good storageOptions, guest string) {
	byAddress, inGiven, inOther := good, good, good
	byAddress.hosts, byAddress.tlsServerName = []string{s.address}, "localhost"
	inGiven.keyspace, inGiven.credentials = "ready", guest
	inOther.keyspace, inOther.credentials = "other", guest
	for name, o := range map[string]storageOptions{
		"found by name": good, "by address, with a server name": byAddress, "in a keyspace that was made for the user": inGiven,
	} {
		if err := runSchema(t, o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := runSchema(t, inOther); err == nil || !strings.Contains(err.Error(), "guest has no CREATE permission") {
		t.Errorf("the error for a user without permissions is %v", err)
	}
}

// mistakes checks that errors name the wrong flag or file, and reveal no secrets.
func (s *secure) mistakes(t *testing.T, good storageOptions) {
	stranger := authority.New(t)
	for name, test := range map[string]struct {
		change func(o *storageOptions)
		says   []string
	}{
		"wrong password": {
			func(o *storageOptions) {
				o.credentials = directory(t, map[string]string{"username": "maker", "password": "gue55"})
			},
			[]string{"username maker", "incorrect", "--cassandra-credentials"},
		},
		"no password": {
			func(o *storageOptions) { o.credentials = "" },
			[]string{"no user name and password are configured", "--cassandra-credentials"},
		},
		"wrong datacenter": {
			func(o *storageOptions) { o.datacenter = "moon" },
			[]string{`"moon"`, "datacenter1", "--cassandra-datacenter"},
		},
		"unknown authority": {
			func(o *storageOptions) {
				o.tlsDir = directory(t, with(s.ca.Secret(t), "ca.crt", string(stranger.PEM())))
			},
			[]string{"unknown authority", "--cassandra-tls-dir", "ca.crt"},
		},
		"wrong server name": {
			func(o *storageOptions) { o.tlsServerName = "cass.example" },
			[]string{"valid for localhost", "cass.example", "--cassandra-tls-server-name"},
		},
		"a certificate without the address": {
			func(o *storageOptions) { o.hosts = []string{s.address} },
			[]string{"127.0.0.1", "--cassandra-tls-server-name"},
		},
		"no certificate of the client": {
			func(o *storageOptions) { o.tlsDir = directory(t, map[string]string{"ca.crt": string(s.ca.PEM())}) },
			[]string{"--cassandra-tls-dir", "tls.crt"},
		},
		"a client's certificate of another authority": {
			func(o *storageOptions) {
				o.tlsDir = directory(t, with(stranger.Secret(t), "ca.crt", string(s.ca.PEM())))
			},
			[]string{"--cassandra-tls-dir", "tls.crt"},
		},
		"no TLS": {
			func(o *storageOptions) { o.tls, o.tlsDir = false, "" },
			[]string{"ended the connection", "--cassandra-tls is not set"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			test.change(&o)
			err := runSchema(t, o, "--timeout", "10s")
			if err == nil {
				t.Fatal("there is no error")
			}
			for _, text := range test.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the error does not say %q: %v", text, err)
				}
			}
			if strings.Contains(err.Error(), password) || strings.Contains(err.Error(), "gue55") {
				t.Errorf("the error reveals the password: %v", err)
			}
		})
	}
}

// roundTrip archives samples, and reads them in another process.
func roundTrip(t *testing.T, storage storageOptions) {
	g := NewWithT(t)
	log := slog.New(slog.DiscardHandler)
	srv, err := ioc.New(ioc.Config{Listen: "127.0.0.1:0", Channels: 1, Rate: 50, Kinds: []string{"RAMP"}, Log: log})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- srv.Run(ctx) }()
	defer func() { cancel(); <-served }()
	groups := writeFile(t, t.TempDir(), "ramps.yaml", "{apiVersion: varve.dev/v1alpha1, kind: ArchiveGroup, metadata: {name: ramps}, "+
		"spec: {archiverRef: {name: main}, channels: [{name: 'SIM:RAMP:0000'}]}}")
	begin := time.Now()
	archived := []archive.Event{}
	for range 2 {
		s, err := openStandalone(t.Context(), &standaloneOptions{
			pipelineOptions: pipelineOptions{
				storage: storage, memory: 64 << 20, spoolSize: spool.MinSize, flush: 50 * time.Millisecond, checkpoint: time.Minute,
				ca: ca.Config{Config: clienttest.ByUDP(srv.Addr().String())},
			},
			file: groups, listen: "127.0.0.1:0", log: log,
		})
		g.Expect(err).NotTo(HaveOccurred())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		url := s.url()
		go func() { ended <- s.run(ctx) }()
		var events []archive.Event
		g.Eventually(func() int {
			events, _ = archive.NewClient(url, time.Minute).Events("SIM:RAMP:0000", begin) // after an error, the next poll tries again
			return len(events)
		}).WithTimeout(3 * time.Minute).WithPolling(50 * time.Millisecond).Should(BeNumerically(">=", len(archived)+20))
		stop()
		g.Expect(<-ended).To(Succeed(), "all samples are stored")
		g.Expect(events[:len(archived)]).To(Equal(archived), "the next process reads what the first one stored")
		archived = events
	}
}

// rotation checks that changed Secrets take effect in a store that waits to be opened, and at
// each new connection of an open store.
func (s *secure) rotation(t *testing.T, o storageOptions) {
	g := NewWithT(t)
	log := slog.New(slog.DiscardHandler)
	o.credentials = directory(t, map[string]string{"username": "maker", "password": "gue55"})
	o.tlsDir = directory(t, map[string]string{"ca.crt": string(s.ca.PEM())})
	st, err := o.openLate(nil, log)
	g.Expect(err).NotTo(HaveOccurred())
	defer st.Close()
	pending := st.(interface{ State() string })
	state := func(prefix string) {
		t.Helper()
		g.Eventually(pending.State).WithTimeout(3 * time.Minute).WithPolling(20 * time.Millisecond).Should(HavePrefix(prefix))
	}
	state("TLSFailed: ")
	secret := s.ca.Secret(t)
	writeFile(t, o.tlsDir, "tls.key", secret["tls.key"])
	writeFile(t, o.tlsDir, "tls.crt", secret["tls.crt"])
	state("WrongCredentials: ")
	writeFile(t, o.credentials, "password", password)
	g.Eventually(pending.State).WithTimeout(3 * time.Minute).Should(BeEmpty())

	cfg, err := o.cassandra(nil, log)
	g.Expect(err).NotTo(HaveOccurred())
	open := func() error {
		st, err := cassandrastore.Open(t.Context(), cfg)
		if err != nil {
			return err
		}
		return st.Close()
	}
	g.Expect(open()).To(Succeed())
	s.exec(t, "ALTER ROLE maker WITH PASSWORD = '%s'", nextPassword)
	g.Eventually(open).WithTimeout(3 * time.Minute).Should(MatchError(cql.ErrCredentials))
	_, err = st.Claims(t.Context(), 0)
	g.Expect(err).NotTo(HaveOccurred(), "connections that are open stay")
	writeFile(t, o.credentials, "password", nextPassword)
	g.Expect(open()).To(Succeed(), "a new connection reads the changed Secret")

	s.exec(t, "CREATE ROLE heir WITH PASSWORD = '%s' AND LOGIN = true", nextPassword)
	s.exec(t, "GRANT ALL PERMISSIONS ON KEYSPACE %s TO heir", o.keyspace)
	s.exec(t, "DROP ROLE maker")
	writeFile(t, o.credentials, "username", "heir")
	g.Expect(open()).To(Succeed(), "another user may follow")
	g.Expect(runSchema(t, o)).To(Succeed())
}

// with returns a Secret with one file changed.
func with(files map[string]string, name, text string) map[string]string {
	files[name] = text
	return files
}
