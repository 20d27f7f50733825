// Package freeport finds ports for servers of tests.
//
//	Find ──▶ a port that a server takes, frees and takes again
//
// Ports are taken from below those that the kernel gives to sockets without one
// (ip_local_port_range): so no client takes the port of a server that restarts, and
// nobody who waits for a server gets connected to himself, as TCP allows when the
// kernel chooses the port that is dialled.
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

// Several returns n such ports, each another one.
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
