package main

import (
	"fmt"
	"strings"

	"varve.dev/varve/engine/capture"
)

// providerFlag is a flag whose value is a provider: CA or PVA.
type providerFlag capture.Provider

// String implements pflag.Value.
func (p *providerFlag) String() string { return strings.ToUpper(capture.Provider(*p).String()) }

// Type implements pflag.Value.
func (p *providerFlag) Type() string { return "provider" }

// Set implements pflag.Value.
func (p *providerFlag) Set(word string) error {
	switch strings.ToUpper(word) {
	case "CA":
		*p = providerFlag(capture.CA)
	case "PVA":
		*p = providerFlag(capture.PVA)
	default:
		return fmt.Errorf("%q is not CA or PVA", word)
	}
	return nil
}

// epicsVariables are the environment variables that the clients of both protocols read.
const epicsVariables = `EPICS_CA_ADDR_LIST, EPICS_CA_AUTO_ADDR_LIST, EPICS_CA_NAME_SERVERS,
EPICS_CA_SERVER_PORT, EPICS_CA_REPEATER_PORT, EPICS_CA_MAX_ARRAY_BYTES,
EPICS_CA_CONN_TMO, EPICS_PVA_ADDR_LIST, EPICS_PVA_AUTO_ADDR_LIST,
EPICS_PVA_NAME_SERVERS, EPICS_PVA_SERVER_PORT, EPICS_PVA_BROADCAST_PORT,
EPICS_PVA_CONN_TMO`
