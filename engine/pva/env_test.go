package pva

import (
	"testing"
	"time"

	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/client/clienttest"
)

var fromEnv = clienttest.FromEnv[Config](ConfigFromEnv)

func TestConfigFromEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want Config
	}{
		"nothing set": {nil, Config{Config: client.Config{AutoAddrList: true}}},
		"all set": {
			map[string]string{
				"EPICS_PVA_ADDR_LIST": " 10.0.0.1 ioc:5070\tgw ", "EPICS_PVA_AUTO_ADDR_LIST": "no",
				"EPICS_PVA_NAME_SERVERS": "ns:1 ns2", "EPICS_PVA_SERVER_PORT": "6075", "EPICS_PVA_BROADCAST_PORT": "6076",
				"EPICS_PVA_CONN_TMO": "2.5",
			},
			Config{Config: client.Config{
				AddrList: []string{"10.0.0.1", "ioc:5070", "gw"}, NameServers: []string{"ns:1", "ns2"},
				ServerPort: 6075, ConnTimeout: 2500 * time.Millisecond,
			}, BroadcastPort: 6076},
		},
		"empty": {map[string]string{"EPICS_PVA_ADDR_LIST": " ", "EPICS_PVA_AUTO_ADDR_LIST": ""}, Config{Config: client.Config{AutoAddrList: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			fromEnv.Check(t, c.env, c.want)
		})
	}
}

func TestWrongVariablesAreNamed(t *testing.T) {
	fromEnv.CheckErrors(t, [][2]string{
		{"EPICS_PVA_ADDR_LIST", "10.0.0.1:port"},
		{"EPICS_PVA_ADDR_LIST", ":5076"},
		{"EPICS_PVA_ADDR_LIST", "239.1.1.1,8@eth0"},
		{"EPICS_PVA_NAME_SERVERS", "ns:0"},
		{"EPICS_PVA_AUTO_ADDR_LIST", "maybe"},
		{"EPICS_PVA_SERVER_PORT", "70000"},
		{"EPICS_PVA_BROADCAST_PORT", "-1"},
		{"EPICS_PVA_CONN_TMO", "NaN"},
		{"EPICS_PVA_CONN_TMO", "0"},
	}...)
}

func TestWrongAddressIsRefused(t *testing.T) {
	clienttest.CheckRefused(t, New,
		Config{Config: clienttest.ByUDP("10.0.0.1:x")}, Config{Config: clienttest.ByUDP("ioc:x")},
		Config{Config: clienttest.ByTCP("ns:x")},
	)
}
