package clienttest

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"

	"varve.dev/varve/engine/client"
)

// Server is a scripted server.
type Server interface {
	// Address returns the server's address, host:port.
	Address() string
	// Accept starts a goroutine that serves a connection until the connection ends.
	Accept(conn net.Conn)
}

// Network is a set of scripted servers. A client dials them in memory, so that the test can
// use the clock of package synctest.
type Network struct {
	mu      sync.Mutex
	servers map[string]Server
	conns   map[string][]net.Conn // the servers' ends
	dials   map[string]int
}

// NewNetwork returns a network of servers.
func NewNetwork[S Server](servers ...S) *Network {
	n := &Network{servers: map[string]Server{}, conns: map[string][]net.Conn{}, dials: map[string]int{}}
	for _, s := range servers {
		n.Start(s)
	}
	return n
}

// Config returns a configuration with name servers of the network.
func (n *Network) Config(nameServers ...string) client.Config {
	return client.Config{NameServers: nameServers, Dial: n.Dial, User: "u", Host: "h"}
}

// Dial connects to a server.
func (n *Network) Dial(_ context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials[address]++
	s := n.servers[address]
	if s == nil {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	n.conns[address] = append(n.conns[address], ours)
	s.Accept(ours)
	return theirs, nil
}

// Start starts a server, or restarts one that was stopped.
func (n *Network) Start(s Server) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.servers[s.Address()] = s
}

// Stop stops a server: its connections break, and it refuses new ones.
func (n *Network) Stop(s Server) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.servers, s.Address())
	for _, conn := range n.conns[s.Address()] {
		_ = conn.Close()
	}
}

// Update changes a server between two calls of its Accept.
func (n *Network) Update(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// Dials returns how often clients tried to connect to an address.
func (n *Network) Dials(address string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials[address]
}

// Serve writes a greeting to a client, and passes the bytes that the client sends to handle
// until the connection ends. handle gets all bytes that it has not used before, and returns
// the number of bytes that it used. It returns 0 if the bytes are not a complete frame.
func Serve(conn net.Conn, greeting []byte, handle func(b []byte) (used int)) {
	defer conn.Close()
	Write(conn, greeting)
	var b []byte
	chunk := make([]byte, 4096)
	for {
		n, err := conn.Read(chunk)
		if err != nil {
			return
		}
		b = append(b, chunk[:n]...)
		for used := handle(b); used > 0; used = handle(b) {
			b = b[used:]
		}
	}
}

// Write writes to a client, which may have disconnected.
func Write(conn net.Conn, b []byte) {
	if len(b) > 0 {
		_, _ = conn.Write(b) // fails if the client has disconnected
	}
}

// MovingHost is a host that changes its address.
type MovingHost struct {
	mu sync.Mutex
	ip string
}

// NewMovingHost returns a host with an address.
func NewMovingHost(ip string) *MovingHost { return &MovingHost{ip: ip} }

// Move changes the address.
func (m *MovingHost) Move(ip string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ip = ip
}

// Resolve returns the address of the host for any name.
func (m *MovingHost) Resolve(context.Context, string) ([]netip.Addr, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return []netip.Addr{netip.MustParseAddr(m.ip)}, nil
}
