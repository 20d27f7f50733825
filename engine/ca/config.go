package ca

import (
	"fmt"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/client"
)

// Config is the configuration of a Client. The zero value finds nothing: set AddrList,
// AutoAddrList or NameServers. A circuit that was silent for ConnTimeout is probed with
// an ECHO.
type Config struct {
	client.Config

	// Priority, 0 to 99, goes to servers with each circuit: those on VxWorks and RTEMS give
	// it to the threads that serve the circuit.
	Priority uint16
	// RepeaterPort is the UDP port that beacons come to, usually 5065. A client that
	// finds the port free takes it, and repeats beacons to the other clients of the
	// host; else it registers with the client or caRepeater that has the port. 0 hears
	// no beacons: a server that comes back is found a bit later.
	RepeaterPort uint16
}

// check returns an error for values that are out of range.
func (c *Config) check() error {
	if c.Priority > proto.MaxPriority {
		return fmt.Errorf("the priority %d is not between 0 and %d", c.Priority, proto.MaxPriority)
	}
	return nil
}

// withDefaults returns c with the missing values filled in.
func (c Config) withDefaults() Config {
	c.Config = c.WithDefaults(proto.ServerPort)
	return c
}
