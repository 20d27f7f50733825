package ca

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
		"nothing set": {nil, Config{AutoAddrList: true, RepeaterPort: 5065}},
		"all set": {
			map[string]string{
				"EPICS_CA_ADDR_LIST": " 10.0.0.1 ioc:5070\tgw ", "EPICS_CA_AUTO_ADDR_LIST": "no",
				"EPICS_CA_NAME_SERVERS": "ns:1 ns2", "EPICS_CA_SERVER_PORT": "6064",
				"EPICS_CA_MAX_ARRAY_BYTES": "20000000", "EPICS_CA_CONN_TMO": "2.5",
				"EPICS_CA_REPEATER_PORT": "6065",
			},
			Config{
				AddrList: []string{"10.0.0.1", "ioc:5070", "gw"}, NameServers: []string{"ns:1", "ns2"},
				ServerPort: 6064, RepeaterPort: 6065, MaxArrayBytes: 20000000, ConnTimeout: 2500 * time.Millisecond,
			},
		},
		"empty and small": {
			map[string]string{"EPICS_CA_ADDR_LIST": "", "EPICS_CA_MAX_ARRAY_BYTES": "100"},
			Config{AutoAddrList: true, RepeaterPort: 5065, MaxArrayBytes: minArrayBytes},
		},
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
	} {
		_, err := fromMap(map[string]string{c[0]: c[1]})
		if err == nil || !strings.Contains(err.Error(), c[0]) || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s=%s: %v", c[0], c[1], err)
		}
	}
}

func TestWrongConfigIsRefused(t *testing.T) {
	for _, c := range []Config{
		{AddrList: []string{"10.0.0.1:x"}}, {AddrList: []string{"ioc:x"}}, {NameServers: []string{"ns:x"}}, {Priority: 100},
	} {
		if client, err := New(c); err == nil {
			client.Close()
			t.Errorf("%+v was accepted", c)
		}
	}
}
