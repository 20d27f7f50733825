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

	// MinArrayBytes is the least that MaxArrayBytes may be (MAX_TCP of EPICS base).
	MinArrayBytes = 16 << 10
)

// Config is the configuration that both protocols have. The zero value finds nothing:
// set AddrList, AutoAddrList or NameServers.
type Config struct {
	// AddrList is the addresses that UDP searches go to, host or host:port. Names are
	// resolved again as long as channels are searched for.
	AddrList []string
	// AutoAddrList adds the broadcast addresses of this host's interfaces.
	AutoAddrList bool
	// NameServers are servers that are searched over TCP, host or host:port. Names are
	// resolved at every connect.
	NameServers []string
	// ServerPort is the TCP port of servers: of NameServers that name none and, in
	// Channel Access, of AddrList too. 0 is the protocol's port.
	ServerPort uint16
	// MaxArrayBytes bounds the size of a value; 0 is DefaultMaxArrayBytes.
	MaxArrayBytes int
	// ConnTimeout is how long a circuit may be silent; 0 is DefaultConnTimeout.
	ConnTimeout time.Duration
	// User and Host go to servers, for their access rules. Empty ones come from the
	// operating system.
	User, Host string

	// Resolve returns the IPv4 addresses of a host name; nil is the system's resolver.
	Resolve search.Resolve
	// Dial connects a circuit; nil is the system's. network is "tcp4".
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	Log        *slog.Logger          // nil discards
	Registerer prometheus.Registerer // nil registers nothing
}

// WithDefaults returns c with the missing values filled in. serverPort is the
// protocol's TCP port.
func (c Config) WithDefaults(serverPort uint16) Config {
	c.ServerPort = cmp.Or(c.ServerPort, serverPort)
	c.MaxArrayBytes = max(cmp.Or(c.MaxArrayBytes, DefaultMaxArrayBytes), MinArrayBytes)
	c.ConnTimeout = cmp.Or(c.ConnTimeout, DefaultConnTimeout)
	if c.Host == "" {
		c.Host, _ = os.Hostname() // servers accept an empty one
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
