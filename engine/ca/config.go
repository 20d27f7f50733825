package ca

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/search"
)

// Defaults of a Config.
const (
	DefaultMaxArrayBytes = 16 << 20
	DefaultConnTimeout   = 30 * time.Second

	// minArrayBytes is the least that EPICS_CA_MAX_ARRAY_BYTES may be (MAX_TCP).
	minArrayBytes = 16384
)

// Config is what a Client needs to know. The zero value finds nothing: set
// AddrList, AutoAddrList or NameServers.
type Config struct {
	// AddrList are the addresses to send UDP searches to, host or host:port. Names
	// are resolved again as long as channels are searched for.
	AddrList []string
	// AutoAddrList adds the broadcast addresses of this host's interfaces.
	AutoAddrList bool
	// NameServers are servers to send searches to over TCP, host or host:port.
	// Names are resolved at every connect.
	NameServers []string
	// ServerPort is the port of addresses that have none; 0 is 5064.
	ServerPort uint16
	// MaxArrayBytes bounds the size of a value; 0 is DefaultMaxArrayBytes.
	MaxArrayBytes int
	// ConnTimeout is how long a circuit may be silent before it is probed with an
	// ECHO; 0 is DefaultConnTimeout.
	ConnTimeout time.Duration
	// Priority, 0 to 99, is asked of servers for the circuits; those of VxWorks and
	// RTEMS take it as that of a thread.
	Priority uint16
	// RepeaterPort is the UDP port that beacons come to, 5065 as a rule: a client
	// takes the port if it is free, and repeats beacons to the other clients of the
	// host; else it has them repeated. 0 hears no beacons: a server that comes back
	// is found a bit later.
	RepeaterPort uint16
	// User and Host are told to servers, for their access rules. Empty ones are
	// taken from the operating system.
	User, Host string

	// Resolve returns the IPv4 addresses of a host name; nil is the system's.
	Resolve search.Resolve
	// Dial connects a circuit; nil is the system's. network is "tcp4".
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	Log        *slog.Logger          // nil discards
	Registerer prometheus.Registerer // nil registers nothing
}

// check finds what can not be.
func (c *Config) check() error {
	if c.Priority > proto.MaxPriority {
		return fmt.Errorf("the priority %d is not between 0 and %d", c.Priority, proto.MaxPriority)
	}
	return nil
}

// withDefaults returns c with what is missing filled in.
func (c Config) withDefaults() Config {
	c.ServerPort = cmp.Or(c.ServerPort, proto.ServerPort)
	c.MaxArrayBytes = max(cmp.Or(c.MaxArrayBytes, DefaultMaxArrayBytes), minArrayBytes)
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
