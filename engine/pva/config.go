package pva

import (
	"cmp"

	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/search"
)

// DefaultQueueSize is the default of Config.QueueSize.
const DefaultQueueSize = 32

// Config is the configuration of a Client. A client with the zero value finds no channels: set
// AddrList, AutoAddrList or NameServers. A circuit sends an ECHO twice per ConnTimeout.
type Config struct {
	client.Config

	// BroadcastPort is the UDP port of beacons, and of addresses in AddrList that have no
	// port. 0 means 5076.
	BroadcastPort uint16
	// QueueSize is the number of updates of a channel that a server keeps for a slow client. 0
	// means DefaultQueueSize. The queue uses memory of the server only while the client is
	// slow.
	QueueSize int
	// Pipeline makes servers send at most QueueSize updates of a channel before the client
	// acknowledges some. Updates for a slow client then wait in that queue instead of in the
	// network, and the server counts the updates that it drops. Pipeline is off by default
	// because of servers of pvAccessCPP, such as QSRV 1. If they merge an update in the full
	// queue of a pipelined monitor, they delay it until the next update, or for 10 s and more.
	// Thus the last value of a PV that then stays constant arrives late.
	Pipeline bool
}

// withDefaults returns c with defaults for missing values.
func (c Config) withDefaults() Config {
	c.Config = c.WithDefaults(proto.ServerPort)
	c.BroadcastPort = cmp.Or(c.BroadcastPort, proto.BroadcastPort)
	c.QueueSize = min(max(cmp.Or(c.QueueSize, DefaultQueueSize), 2), 1<<14)
	return c
}

// ConfigFromEnv returns the Config that the standard environment variables of pvAccess
// describe. lookup is os.LookupEnv or a similar function. As in PVXS, the default of
// EPICS_PVA_AUTO_ADDR_LIST is YES, and an empty value counts as unset. The error for a wrong
// value names the variable.
func ConfigFromEnv(lookup func(name string) (value string, ok bool)) (Config, error) {
	c := Config{}
	c.AutoAddrList = true
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
