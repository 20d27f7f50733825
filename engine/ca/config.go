package ca

import (
	"fmt"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/client"
)

// Config is the configuration of a Client. A client with the zero value finds no channels: set
// AddrList, AutoAddrList or NameServers. When a server has been silent for ConnTimeout, the
// client sends it an ECHO.
type Config struct {
	client.Config

	// Priority, from 0 to 99, is sent to the server of each circuit. Servers on VxWorks and
	// RTEMS give it to the threads that serve the circuit.
	Priority uint16
	// RepeaterPort is the UDP port on which beacons arrive, usually 5065. If the port is free,
	// the client binds it and forwards beacons to the other clients of the host. Otherwise it
	// registers with the client or caRepeater that has the port. With 0 the client receives no
	// beacons, and needs a bit longer to find a server that returns.
	RepeaterPort uint16
}

// check returns an error for values that are out of range.
func (c *Config) check() error {
	if c.Priority > proto.MaxPriority {
		return fmt.Errorf("the priority %d is not between 0 and %d", c.Priority, proto.MaxPriority)
	}
	return nil
}

// withDefaults returns c with defaults for missing values.
func (c Config) withDefaults() Config {
	c.Config = c.WithDefaults(proto.ServerPort)
	return c
}
