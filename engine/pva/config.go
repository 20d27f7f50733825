package pva

import (
	"cmp"

	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/search"
)

// DefaultQueueSize is the default of Config.QueueSize.
const DefaultQueueSize = 32

// Config is the configuration of a Client. The zero value finds nothing: set AddrList,
// AutoAddrList or NameServers. A circuit sends an ECHO twice in ConnTimeout.
type Config struct {
	client.Config

	// BroadcastPort is the UDP port of beacons, and of addresses in AddrList that name
	// none; 0 is 5076.
	BroadcastPort uint16
	// QueueSize is how many updates of a channel a server keeps for a client that is
	// slow; 0 is DefaultQueueSize. It costs the server memory only then.
	QueueSize int
	// Pipeline makes servers send at most QueueSize updates of a channel before the
	// client acknowledges some. Updates for a slow client then wait in that queue, and
	// not in the network, and the server counts those that it drops. Pipeline is off by
	// default, because servers of pvAccessCPP, such as QSRV 1, delay an update that was
	// merged in a full queue of a pipelined monitor until the next update, or for 10 s
	// and more: when a PV goes quiet, its last value comes late.
	Pipeline bool
}

// withDefaults returns c with the missing values filled in.
func (c Config) withDefaults() Config {
	c.Config = c.WithDefaults(proto.ServerPort)
	c.BroadcastPort = cmp.Or(c.BroadcastPort, proto.BroadcastPort)
	c.QueueSize = min(max(cmp.Or(c.QueueSize, DefaultQueueSize), 2), 1<<14)
	return c
}

// ConfigFromEnv returns the Config that the standard environment variables of pvAccess
// describe. lookup is os.LookupEnv or the like. As in PVXS, EPICS_PVA_AUTO_ADDR_LIST is
// YES unless set, and an empty value counts as unset. The error for a wrong value names
// the variable.
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
