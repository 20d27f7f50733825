package client

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/search"
)

// Defaults of a Config.
const (
	DefaultMaxArrayBytes = 16 << 20
	DefaultConnTimeout   = 30 * time.Second

	// MinArrayBytes is the minimum of MaxArrayBytes (MAX_TCP of EPICS base).
	MinArrayBytes = 16 << 10
)

// Config is the configuration that both protocols have. A client with the zero value finds no
// channels: set AddrList, AutoAddrList or NameServers.
type Config struct {
	// AddrList has the addresses to which the client sends searches by UDP, as host or
	// host:port. The client resolves host names again as long as it searches for channels.
	AddrList []string
	// AutoAddrList adds the broadcast addresses of this host's interfaces.
	AutoAddrList bool
	// NameServers has the servers to which the client sends searches over TCP, as host or
	// host:port. The client resolves a host name each time it connects.
	NameServers []string
	// ServerPort is the TCP port of NameServers without a port. In Channel Access it is also
	// the port of addresses in AddrList without a port. 0 means the protocol's port.
	ServerPort uint16
	// MaxArrayBytes limits the size of a value. 0 means DefaultMaxArrayBytes.
	MaxArrayBytes int
	// ConnTimeout is the maximum time for which a circuit may be silent. 0 means
	// DefaultConnTimeout.
	ConnTimeout time.Duration
	// User and Host are sent to servers, for their access rules. If User is empty, it is $USER
	// or varve. If Host is empty, it is the host name of the operating system.
	User, Host string

	// Resolve returns the IPv4 addresses of a host name. nil means the system's resolver.
	Resolve search.Resolve
	// Dial connects a circuit. nil means a net.Dialer. network is "tcp4".
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	Log        *slog.Logger          // nil discards messages
	Registerer prometheus.Registerer // nil registers no metrics
}

// WithDefaults returns c with defaults for missing values. serverPort is the protocol's TCP
// port.
func (c Config) WithDefaults(serverPort uint16) Config {
	c.ServerPort = cmp.Or(c.ServerPort, serverPort)
	c.MaxArrayBytes = max(cmp.Or(c.MaxArrayBytes, DefaultMaxArrayBytes), MinArrayBytes)
	c.ConnTimeout = cmp.Or(c.ConnTimeout, DefaultConnTimeout)
	if c.Host == "" {
		c.Host, _ = os.Hostname() // servers accept an empty host name
	}
	c.User = cmp.Or(c.User, os.Getenv("USER"), "varve")
	if c.Resolve == nil {
		c.Resolve = search.SystemResolve
	}
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
