package pva

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func fromMap(env map[string]string) (Config, error) {
	return ConfigFromEnv(func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	})
}

func TestConfigFromEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want Config
	}{
		"nothing set": {nil, Config{AutoAddrList: true}},
		"all set": {
			map[string]string{
				"EPICS_PVA_ADDR_LIST": " 10.0.0.1 ioc:5070\tgw ", "EPICS_PVA_AUTO_ADDR_LIST": "no",
				"EPICS_PVA_NAME_SERVERS": "ns:1 ns2", "EPICS_PVA_SERVER_PORT": "6075", "EPICS_PVA_BROADCAST_PORT": "6076",
				"EPICS_PVA_CONN_TMO": "2.5",
			},
			Config{
				AddrList: []string{"10.0.0.1", "ioc:5070", "gw"}, NameServers: []string{"ns:1", "ns2"},
				ServerPort: 6075, BroadcastPort: 6076, ConnTimeout: 2500 * time.Millisecond,
			},
		},
		"empty": {map[string]string{"EPICS_PVA_ADDR_LIST": " ", "EPICS_PVA_AUTO_ADDR_LIST": ""}, Config{AutoAddrList: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := fromMap(c.env)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWrongVariablesAreNamed(t *testing.T) {
	for _, c := range [][2]string{
		{"EPICS_PVA_ADDR_LIST", "10.0.0.1:port"},
		{"EPICS_PVA_ADDR_LIST", ":5076"},
		{"EPICS_PVA_ADDR_LIST", "239.1.1.1,8@eth0"},
		{"EPICS_PVA_NAME_SERVERS", "ns:0"},
		{"EPICS_PVA_AUTO_ADDR_LIST", "maybe"},
		{"EPICS_PVA_SERVER_PORT", "70000"},
		{"EPICS_PVA_BROADCAST_PORT", "-1"},
		{"EPICS_PVA_CONN_TMO", "NaN"},
		{"EPICS_PVA_CONN_TMO", "0"},
	} {
		_, err := fromMap(map[string]string{c[0]: c[1]})
		if err == nil || !strings.Contains(err.Error(), c[0]) || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s=%s: %v", c[0], c[1], err)
		}
	}
}

func TestWrongAddressIsRefused(t *testing.T) {
	for _, c := range []Config{{AddrList: []string{"10.0.0.1:x"}}, {AddrList: []string{"ioc:x"}}, {NameServers: []string{"ns:x"}}} {
		if client, err := New(c); err == nil {
			client.Close()
			t.Errorf("%+v was accepted", c)
		}
	}
}
