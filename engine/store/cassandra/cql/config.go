package cql

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/store"
)

// Config says where the cluster is and how to use it. Only Hosts is required.
type Config struct {
	// Hosts are addresses of some nodes, host or host:port; the others are found.
	Hosts []string
	// Keyspace defaults to "varve".
	Keyspace string
	// Datacenter is the one to use; by default that of the host that answers.
	Datacenter string
	// ReplicationFactor is for schema.Create; by default 3, or the number of
	// nodes in the datacenter if that is less.
	ReplicationFactor int
	// JournalTTL is for schema.Create: how long journal rows are kept, 1 day by
	// default. What is not sealed by then is lost.
	JournalTTL time.Duration
	// Tiers are for schema.Create: those of the retention tiers that get tables. By
	// default a new archive has all, and one that is there those it has. Forever always
	// does, and a later call can add others.
	Tiers []store.Tier

	// Login returns the user name and password; nil for none. It is asked at each
	// connection: a password may change while a store is open.
	Login func() (username, password string, err error)
	// TLS is used if it is not nil. It is asked at each connection as well:
	// certificates are renewed. Without a ServerName, a node's certificate must
	// have the node's address, or the name of one of Hosts.
	TLS func() (*tls.Config, error)

	// Timeout of one attempt at a request, and of connecting; 5 s by default.
	Timeout time.Duration
	// InFlightBytes bounds the bytes of writes that wait for an answer; 16 MiB
	// by default. More writes wait.
	InFlightBytes int64

	// Now is the clock for timestamps of writes, and for how long they have to live;
	// time.Now by default.
	Now func() time.Time

	// Registerer gets the metrics; nil for none.
	Registerer prometheus.Registerer
	// Log gets what the driver says; nil for nothing.
	Log *slog.Logger
}

// Defaults of Config.
const (
	defaultKeyspace      = "varve"
	defaultTimeout       = 5 * time.Second
	defaultInFlightBytes = 16 << 20
	defaultJournalTTL    = 24 * time.Hour
)

// protocol is version 5 of CQL's native protocol: Cassandra 4.0 and newer.
const protocol = 5

// reconnectEvery is how often nodes that are down are tried.
const reconnectEvery = time.Second

// keyspaceName is what CQL takes without quotes.
var keyspaceName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// Complete returns the configuration with defaults, or what is wrong with it.
func (c Config) Complete() (Config, error) {
	c.Keyspace = cmp.Or(c.Keyspace, defaultKeyspace)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.InFlightBytes = cmp.Or(c.InFlightBytes, defaultInFlightBytes)
	c.JournalTTL = cmp.Or(c.JournalTTL, defaultJournalTTL)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	switch {
	case len(c.Hosts) == 0:
		return c, errors.New("no host of Cassandra is given")
	case !keyspaceName.MatchString(c.Keyspace):
		return c, fmt.Errorf("keyspace %q is not a name of up to 48 small letters, digits and underscores", c.Keyspace)
	case c.JournalTTL < time.Hour:
		return c, fmt.Errorf("journal rows must be kept for 1 h at least, not %v", c.JournalTTL)
	case slices.ContainsFunc(c.Tiers, func(r store.Tier) bool { return !r.Valid() }):
		return c, fmt.Errorf("one of the tiers %v is none", c.Tiers)
	case c.Timeout < 0 || c.InFlightBytes < 0 || c.ReplicationFactor < 0:
		return c, errors.New("a timeout, bound or replication factor is negative")
	}
	return c, nil
}

// Validate returns what is wrong with the configuration, without asking the
// cluster.
func (c Config) Validate() error {
	_, err := c.Complete()
	return err
}

// Cluster returns the driver's configuration of what all connections share.
func (c *Config) Cluster() *gocql.ClusterConfig {
	cluster := gocql.NewCluster(c.Hosts...)
	cluster.ProtoVersion = protocol
	cluster.Timeout, cluster.ConnectTimeout = c.Timeout, c.Timeout
	cluster.Consistency = gocql.LocalQuorum
	cluster.DefaultIdempotence = true
	cluster.WriteCoalesceWaitTime = 0 // requests are few and large: each would wait up to 200 µs for others
	cluster.Logger = logger{c.Log}
	cluster.ReconnectInterval = reconnectEvery
	cluster.ReconnectionPolicy = &gocql.ConstantReconnectionPolicy{MaxRetries: 1, Interval: reconnectEvery / 2}
	if c.Login != nil {
		cluster.AuthProvider = c.authenticator
	}
	d := c.dialer()
	cluster.HostDialer = &d
	return cluster
}

// authenticator is what a new connection logs in with.
func (c *Config) authenticator(*gocql.HostInfo) (gocql.Authenticator, error) {
	username, password, err := c.Login()
	return gocql.PasswordAuthenticator{Username: username, Password: password}, err
}
