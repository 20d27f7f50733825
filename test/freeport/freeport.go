// Package freeport finds free ports for the servers that tests start.
//
//	Find ──▶ a port that a server takes, frees and takes again
//
// The ports are below the range from which the kernel chooses the ports of clients
// (ip_local_port_range). This prevents two errors. While a server restarts, no client gets its
// port. And a client that repeatedly dials a server which is not up yet never connects to
// itself, which TCP allows if the kernel chooses the dialled port for the client.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
)

const (
	first = 10000
	end   = 32768
	tries = 100
)

// Find returns a port of host on which neither TCP nor UDP is in use now.
func Find(host string) (int, error) {
	ports, err := Several(host, 1)
	if err != nil {
		return 0, err
	}
	return ports[0], nil
}

// Several returns n different ports of host on which neither TCP nor UDP is in use now.
func Several(host string, n int) (ports []int, err error) {
	for range tries + n {
		if len(ports) == n {
			return ports, nil
		}
		port := first + rand.N(end-first)
		if !slices.Contains(ports, port) && free(net.JoinHostPort(host, strconv.Itoa(port))) {
			ports = append(ports, port)
		}
	}
	return nil, fmt.Errorf("no %d ports of %s are free", n, host)
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
