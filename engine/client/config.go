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
	"varve.dev/varve/engine/wire"
)

// Defaults of a Config.
const (
	DefaultMaxArrayBytes = 16 << 20
	DefaultConnTimeout   = 30 * time.Second
	DefaultReceiveMemory = 256 << 20
	DefaultCheckEvery    = 10 * time.Minute // of the program; that of a Config is 0

	// DefaultMaxCircuits and DefaultMaxCircuitsPerHost are far more than an engine needs. They
	// bound what answers to searches that name many servers can cost.
	DefaultMaxCircuits        = 8192
	DefaultMaxCircuitsPerHost = 1024

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
	// CheckEvery is how long a connected channel may have no update before the client reads its
	// value, to find out whether its subscription is dead. The read follows within twice this
	// time. 0 means that the client never does so. The minimum is CheckTick.
	CheckEvery time.Duration
	// MaxCircuits limits the circuits to all servers, and MaxCircuitsPerHost those to servers
	// at one IP address. Circuits to NameServers are counted, but never refused. 0 means
	// DefaultMaxCircuits and DefaultMaxCircuitsPerHost.
	MaxCircuits, MaxCircuitsPerHost int
	// ReceiveMemory is the memory for the frames that circuits receive. Several clients may
	// share it. nil means DefaultReceiveMemory, or four values of MaxArrayBytes.
	ReceiveMemory *wire.Budget
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

// NewReceiveMemory returns a Config.ReceiveMemory of a number of bytes, or of four values of
// maxArrayBytes if that is more. 0 means DefaultMaxArrayBytes.
func NewReceiveMemory(bytes, maxArrayBytes int) *wire.Budget {
	const frames = 4
	return wire.NewBudget(max(bytes, frames*cmp.Or(maxArrayBytes, DefaultMaxArrayBytes)))
}

// WithDefaults returns c with defaults for missing values. serverPort is the protocol's TCP
// port.
func (c Config) WithDefaults(serverPort uint16) Config {
	c.ServerPort = cmp.Or(c.ServerPort, serverPort)
	c.MaxArrayBytes = max(cmp.Or(c.MaxArrayBytes, DefaultMaxArrayBytes), MinArrayBytes)
	c.ConnTimeout = cmp.Or(c.ConnTimeout, DefaultConnTimeout)
	if c.CheckEvery != 0 {
		c.CheckEvery = max(c.CheckEvery, CheckTick)
	}
	c.MaxCircuits = cmp.Or(c.MaxCircuits, DefaultMaxCircuits)
	c.MaxCircuitsPerHost = cmp.Or(c.MaxCircuitsPerHost, DefaultMaxCircuitsPerHost)
	if c.ReceiveMemory == nil {
		c.ReceiveMemory = NewReceiveMemory(DefaultReceiveMemory, c.MaxArrayBytes)
	}
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
