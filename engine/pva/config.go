package pva

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/search"
)

// Defaults of a Config.
const (
	DefaultMaxArrayBytes = 16 << 20
	DefaultConnTimeout   = 30 * time.Second
	DefaultQueueSize     = 32

	// minMessage is the least that MaxArrayBytes may be.
	minMessage = 16 << 10
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
	// BroadcastPort is the port of AddrList where there is none, and of beacons; 0 is
	// 5076. ServerPort is that of NameServers; 0 is 5075.
	BroadcastPort, ServerPort uint16
	// MaxArrayBytes bounds the size of a value; 0 is DefaultMaxArrayBytes.
	MaxArrayBytes int
	// ConnTimeout is how long a circuit may be silent. The server is sent an ECHO
	// twice in that time; 0 is DefaultConnTimeout.
	ConnTimeout time.Duration
	// QueueSize is how many updates of a channel a server keeps for a client that is
	// slow; 0 is DefaultQueueSize. It costs the server memory only then.
	QueueSize int
	// Pipeline has servers send no more than QueueSize updates of a channel before the
	// client acknowledged some, so that what a slow client has not taken waits, and is
	// counted when it is lost, in that queue and not in the network. It is off, as
	// servers of pvAccessCPP, such as QSRV 1, have a pipelined monitor wait for the next
	// update, or 10 s and more, before they send one that was merged in a full queue:
	// when a PV goes quiet, its last value comes late.
	Pipeline bool
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

// withDefaults returns c with what is missing filled in.
func (c Config) withDefaults() Config {
	c.BroadcastPort = cmp.Or(c.BroadcastPort, proto.BroadcastPort)
	c.ServerPort = cmp.Or(c.ServerPort, proto.ServerPort)
	c.MaxArrayBytes = max(cmp.Or(c.MaxArrayBytes, DefaultMaxArrayBytes), minMessage)
	c.ConnTimeout = cmp.Or(c.ConnTimeout, DefaultConnTimeout)
	c.QueueSize = min(max(cmp.Or(c.QueueSize, DefaultQueueSize), 2), 1<<14)
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

// ConfigFromEnv returns the Config that the standard environment variables of
// pvAccess ask for. lookup is os.LookupEnv or the like. As in PVXS,
// EPICS_PVA_AUTO_ADDR_LIST is YES unless set, and an empty value is as none. A
// wrong value is an error that names the variable.
func ConfigFromEnv(lookup func(name string) (value string, ok bool)) (Config, error) {
	c := Config{AutoAddrList: true}
	err := search.ReadEnv(lookup,
		search.Variable{Name: "EPICS_PVA_ADDR_LIST", Set: search.SetList(&c.AddrList)},
		search.Variable{Name: "EPICS_PVA_AUTO_ADDR_LIST", Set: search.SetYesNo(&c.AutoAddrList)},
		search.Variable{Name: "EPICS_PVA_NAME_SERVERS", Set: search.SetList(&c.NameServers)},
		search.Variable{Name: "EPICS_PVA_BROADCAST_PORT", Set: search.SetPort(&c.BroadcastPort)},
		search.Variable{Name: "EPICS_PVA_SERVER_PORT", Set: search.SetPort(&c.ServerPort)},
		search.Variable{Name: "EPICS_PVA_CONN_TMO", Set: search.SetSeconds(&c.ConnTimeout)},
	)
	if err != nil {
		return Config{}, err
	}
	return c, nil
}
