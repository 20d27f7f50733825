package ca

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"varve.dev/varve/engine/ca/proto"
)

// ConfigFromEnv returns the Config that the standard environment variables of
// Channel Access ask for. lookup is os.LookupEnv or the like. As in EPICS base,
// EPICS_CA_AUTO_ADDR_LIST is YES unless set, beacons are heard, and an empty value
// is as none. A wrong value is an error that names the variable.
func ConfigFromEnv(lookup func(name string) (value string, ok bool)) (Config, error) {
	c := Config{AutoAddrList: true, RepeaterPort: proto.RepeaterPort}
	for _, v := range []struct {
		name  string
		parse func(value string) error
	}{
		{"EPICS_CA_SERVER_PORT", func(s string) (err error) { c.ServerPort, err = parsePort(s); return }},
		{"EPICS_CA_REPEATER_PORT", func(s string) (err error) { c.RepeaterPort, err = parsePort(s); return }},
		{"EPICS_CA_ADDR_LIST", func(s string) (err error) { c.AddrList, err = parseList(s); return }},
		{"EPICS_CA_NAME_SERVERS", func(s string) (err error) { c.NameServers, err = parseList(s); return }},
		{"EPICS_CA_AUTO_ADDR_LIST", c.parseAuto},
		{"EPICS_CA_MAX_ARRAY_BYTES", c.parseMaxArrayBytes},
		{"EPICS_CA_CONN_TMO", c.parseConnTimeout},
	} {
		value, _ := lookup(v.name)
		if value = strings.TrimSpace(value); value == "" {
			continue
		}
		if err := v.parse(value); err != nil {
			return Config{}, fmt.Errorf("reading %s=%q: %w", v.name, value, err)
		}
	}
	return c, nil
}

// parseList splits a list at white space and checks its addresses.
func parseList(s string) ([]string, error) {
	list := strings.Fields(s)
	for _, a := range list {
		if _, _, err := splitAddress(a, 1); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (c *Config) parseAuto(s string) error {
	switch strings.ToUpper(s) {
	case "YES":
		c.AutoAddrList = true
	case "NO":
		c.AutoAddrList = false
	default:
		return fmt.Errorf("it is neither YES nor NO")
	}
	return nil
}

func (c *Config) parseMaxArrayBytes(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 || n > math.MaxInt32 {
		return fmt.Errorf("it is not a number of bytes from 1 to %d", math.MaxInt32)
	}
	c.MaxArrayBytes = max(n, minArrayBytes)
	return nil
}

func (c *Config) parseConnTimeout(s string) error {
	const most = 24 * 60 * 60
	secs, err := strconv.ParseFloat(s, 64)
	if err != nil || !(secs >= 0.1 && secs <= most) {
		return fmt.Errorf("it is not a number of seconds from 0.1 to %d", most)
	}
	c.ConnTimeout = time.Duration(secs * float64(time.Second))
	return nil
}
