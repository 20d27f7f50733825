package ca

import (
	"fmt"
	"math"
	"strconv"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/search"
)

// ConfigFromEnv returns the Config that the standard environment variables of Channel Access
// describe. lookup is os.LookupEnv or a similar function. As in EPICS base, the default of
// EPICS_CA_AUTO_ADDR_LIST is YES, the client receives beacons, and an empty value counts as
// unset. The error for a wrong value names the variable.
func ConfigFromEnv(lookup func(name string) (value string, ok bool)) (Config, error) {
	c := Config{RepeaterPort: proto.RepeaterPort}
	c.AutoAddrList = true
	err := search.ReadEnv(lookup,
		search.Variable{Name: "EPICS_CA_SERVER_PORT", Set: search.SetPort(&c.ServerPort)},
		search.Variable{Name: "EPICS_CA_REPEATER_PORT", Set: search.SetPort(&c.RepeaterPort)},
		search.Variable{Name: "EPICS_CA_ADDR_LIST", Set: search.SetList(&c.AddrList)},
		search.Variable{Name: "EPICS_CA_NAME_SERVERS", Set: search.SetList(&c.NameServers)},
		search.Variable{Name: "EPICS_CA_AUTO_ADDR_LIST", Set: search.SetYesNo(&c.AutoAddrList)},
		search.Variable{Name: "EPICS_CA_MAX_ARRAY_BYTES", Set: c.setMaxArrayBytes},
		search.Variable{Name: "EPICS_CA_CONN_TMO", Set: search.SetSeconds(&c.ConnTimeout)},
	)
	if err != nil {
		return Config{}, err
	}
	return c, nil
}

func (c *Config) setMaxArrayBytes(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 || n > math.MaxInt32 {
		return fmt.Errorf("it is not a number of bytes from 1 to %d", math.MaxInt32)
	}
	c.MaxArrayBytes = max(n, client.MinArrayBytes)
	return nil
}
