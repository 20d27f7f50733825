package epics

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports are taken from below those that the kernel gives to sockets without one
// (ip_local_port_range), so that no client takes the port of an IOC that restarts.
const (
	firstPort = 10000
	endPort   = 32768
)

// FreePort returns a port of host on which neither TCP nor UDP is in use now.
func FreePort(tb testing.TB, host string) int {
	tb.Helper()
	for range 100 {
		if port := firstPort + rand.N(endPort-firstPort); free(net.JoinHostPort(host, strconv.Itoa(port))) {
			return port
		}
	}
	tb.Fatalf("no port of %s is free", host)
	return 0
}

func free(address string) bool {
	tcp, err := net.Listen("tcp4", address)
	if err != nil {
		return false
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp4", address)
	if err != nil {
		return false
	}
	return udp.Close() == nil
}
