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

// Config has the addresses of the cluster and the settings for its use. Only Hosts is
// required.
type Config struct {
	// Hosts are addresses of some nodes, as host or host:port. The driver finds the others.
	Hosts []string
	// Keyspace defaults to "varve".
	Keyspace string
	// Datacenter is the datacenter to use. The default is the datacenter of the host that
	// answers.
	Datacenter string
	// ReplicationFactor is for schema.Create. The default is 3, or the number of nodes in the
	// datacenter if that is less.
	ReplicationFactor int
	// JournalTTL is for schema.Create. It is how long journal rows are kept, by default 1 day.
	// Samples that are not sealed within this time are lost.
	JournalTTL time.Duration
	// Tiers are for schema.Create: the retention tiers that get tables. By default a new
	// archive gets all tiers, and an existing one keeps the tiers it has. Forever always
	// gets tables, and a later call can add tiers.
	Tiers []store.Tier

	// Formats are the format levels at which the archive may be opened. The default is those of
	// this program.
	Formats store.Formats

	// Login returns the user name and password. It may be nil, for no login. It is called for
	// each connection, because a password may change while a store is open.
	Login func() (username, password string, err error)
	// TLS returns the TLS configuration. It may be nil, for no TLS. It is called for each
	// connection, because certificates are renewed. Without a ServerName, a node's certificate
	// must have the node's address or the name of one of Hosts.
	TLS func() (*tls.Config, error)

	// Timeout is the time-out of each attempt at a request, and of each attempt to connect.
	// The default is 5 s.
	Timeout time.Duration
	// InFlightBytes bounds the bytes of writes that wait for an answer. The default is 16 MiB.
	// Further writes wait.
	InFlightBytes int64

	// Now is the clock of this machine, for TTLs. The default is time.Now.
	Now func() time.Time
	// Timestamps is the clock for the timestamps of a store's writes. The default is the clocks of
	// the nodes.
	Timestamps func() time.Time
	// Earliest returns the earliest time that it may be now, in ns since 1970. TTLs are as long as
	// if it were so early. If it is nil, only Now and the clocks of the nodes count.
	Earliest func() int64

	// Registerer gets the metrics. It may be nil, for no metrics.
	Registerer prometheus.Registerer
	// Log gets the driver's messages. It may be nil, for no messages.
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

// reconnectEvery is the interval between attempts to reconnect to nodes that are down.
const reconnectEvery = time.Second

// keyspaceName matches the names that CQL accepts without quotes.
var keyspaceName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// Complete returns the configuration with its defaults, or an error if the configuration is
// invalid.
func (c Config) Complete() (Config, error) {
	c.Keyspace = cmp.Or(c.Keyspace, defaultKeyspace)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.InFlightBytes = cmp.Or(c.InFlightBytes, defaultInFlightBytes)
	c.JournalTTL = cmp.Or(c.JournalTTL, defaultJournalTTL)
	c.Formats = c.Formats.OrDefault()
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
		return c, fmt.Errorf("journal rows must be kept for at least 1 h, not %v", c.JournalTTL)
	case slices.ContainsFunc(c.Tiers, func(r store.Tier) bool { return !r.Valid() }):
		return c, fmt.Errorf("one of the tiers %v does not exist", c.Tiers)
	case c.Timeout < 0:
		return c, fmt.Errorf("the time-out must not be negative, but is %v", c.Timeout)
	case c.InFlightBytes < 0:
		return c, fmt.Errorf("the limit of bytes in flight must not be negative, but is %d", c.InFlightBytes)
	case c.ReplicationFactor < 0:
		return c, fmt.Errorf("the replication factor must not be negative, but is %d", c.ReplicationFactor)
	}
	return c, nil
}

// Validate returns an error if the configuration is invalid. It does not connect to the
// cluster.
func (c Config) Validate() error {
	_, err := c.Complete()
	return err
}

// Cluster returns the driver's configuration that all connections share.
func (c *Config) Cluster() *gocql.ClusterConfig {
	cluster := gocql.NewCluster(c.Hosts...)
	cluster.ProtoVersion = protocol
	cluster.Timeout, cluster.ConnectTimeout = c.Timeout, c.Timeout
	cluster.Consistency = gocql.LocalQuorum
	cluster.DefaultIdempotence = true
	cluster.WriteCoalesceWaitTime = 0 // requests are few and large, and each would wait up to 200 µs for others
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

// authenticator returns the credentials with which a new connection logs in.
func (c *Config) authenticator(*gocql.HostInfo) (gocql.Authenticator, error) {
	username, password, err := c.Login()
	return gocql.PasswordAuthenticator{Username: username, Password: password}, err
}
