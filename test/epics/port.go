package epics

import (
	"net"
	"strconv"
	"testing"
)

// FreePort returns a port of host on which neither TCP nor UDP is in use now.
func FreePort(tb testing.TB, host string) int {
	tb.Helper()
	for range 100 {
		if port, ok := tryPort(host); ok {
			return port
		}
	}
	tb.Fatalf("no port of %s is free", host)
	return 0
}

func tryPort(host string) (int, bool) {
	tcp, err := net.Listen("tcp4", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, false
	}
	defer tcp.Close()
	port := tcp.Addr().(*net.TCPAddr).Port
	udp, err := net.ListenPacket("udp4", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return 0, false
	}
	udp.Close()
	return port, true
}
