package ca

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
		"nothing set": {nil, Config{Config: client.Config{AutoAddrList: true}, RepeaterPort: 5065}},
		"all set": {
			map[string]string{
				"EPICS_CA_ADDR_LIST": " 10.0.0.1 ioc:5070\tgw ", "EPICS_CA_AUTO_ADDR_LIST": "no",
				"EPICS_CA_NAME_SERVERS": "ns:1 ns2", "EPICS_CA_SERVER_PORT": "6064",
				"EPICS_CA_MAX_ARRAY_BYTES": "20000000", "EPICS_CA_CONN_TMO": "2.5",
				"EPICS_CA_REPEATER_PORT": "6065",
			},
			Config{Config: client.Config{
				AddrList: []string{"10.0.0.1", "ioc:5070", "gw"}, NameServers: []string{"ns:1", "ns2"},
				ServerPort: 6064, MaxArrayBytes: 20000000, ConnTimeout: 2500 * time.Millisecond,
			}, RepeaterPort: 6065},
		},
		"empty and small": {
			map[string]string{"EPICS_CA_ADDR_LIST": "", "EPICS_CA_MAX_ARRAY_BYTES": "100"},
			Config{Config: client.Config{AutoAddrList: true, MaxArrayBytes: client.MinArrayBytes}, RepeaterPort: 5065},
		},
	} {
		t.Run(name, func(t *testing.T) {
			fromEnv.Check(t, c.env, c.want)
		})
	}
}

func TestWrongVariablesAreNamed(t *testing.T) {
	fromEnv.CheckErrors(t, [][2]string{
		{"EPICS_CA_ADDR_LIST", "10.0.0.1:port"},
		{"EPICS_CA_ADDR_LIST", ":5064"},
		{"EPICS_CA_NAME_SERVERS", "ns:0"},
		{"EPICS_CA_AUTO_ADDR_LIST", "maybe"},
		{"EPICS_CA_SERVER_PORT", "70000"},
		{"EPICS_CA_REPEATER_PORT", "0"},
		{"EPICS_CA_MAX_ARRAY_BYTES", "1e6"},
		{"EPICS_CA_MAX_ARRAY_BYTES", "-1"},
		{"EPICS_CA_CONN_TMO", "NaN"},
		{"EPICS_CA_CONN_TMO", "0"},
	}...)
}

func TestWrongConfigIsRefused(t *testing.T) {
	clienttest.CheckRefused(t, New,
		Config{Config: clienttest.ByUDP("10.0.0.1:x")}, Config{Config: clienttest.ByUDP("ioc:x")},
		Config{Config: clienttest.ByTCP("ns:x")}, Config{Priority: 100},
	)
}
