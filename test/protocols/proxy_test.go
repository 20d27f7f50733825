package protocols

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/varve/test/program"
)

// proxy forwards connections between clients and a server. On each of the first few
// connections, it corrupts or cuts off the data from the server in a different way.
type proxy struct {
	server   string // address of the server
	listener net.Listener
	protocol protocol
	faults   int // number of connections with a fault
	accepted atomic.Int32
	wg       sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// protocol describes the frames that the proxy forwards.
type protocol struct {
	header    int                       // bytes of a header
	size      func(header []byte) int64 // bytes of the payload after the header
	oversized []byte                    // the header of a frame of an impossible length
}

// newProxy starts a proxy that listens at an address. The proxy stops when the test ends.
func newProxy(t *testing.T, address, server string, carried protocol, faults int) *proxy {
	t.Helper()
	l, err := net.Listen("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{server: server, listener: l, protocol: carried, faults: faults, conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp4", p.server)
		if err != nil {
			client.Close()
			continue
		}
		n := int(p.accepted.Add(1))
		p.wg.Go(func() { p.forward(client, server, n) })
	}
}

// forward copies bytes until either side, or the fault of connection n, closes the connection.
func (p *proxy) forward(client, server net.Conn, n int) {
	p.hold(client, true)
	defer p.hold(client, false)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(server, client) // either side may close the connection
		server.Close()
	}()
	if n <= p.faults {
		p.harm(client, server, n)
	} else {
		_, _ = io.Copy(client, server) // either side may close the connection
	}
	client.Close()
	server.Close()
	<-done
}

// harm forwards data from the server with one of several faults.
func (p *proxy) harm(client, server net.Conn, n int) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	after := 1 + r.Int64N(1<<(5+2*n)) // bytes before the fault: more on later connections
	switch n % 3 {
	case 0: // the connection ends in the middle of a frame, as when a server is killed
		_, _ = io.CopyN(client, server, after)
		if r.IntN(2) == 0 {
			_ = client.(*net.TCPConn).SetLinger(0) // closes with a TCP reset
		}
	case 1: // one byte at a time
		drip(client, server, 2000)
	case 2: // a frame of an impossible length replaces the next frame
		p.frames(client, server, after)
		_, _ = client.Write(p.protocol.oversized)
		late := time.AfterFunc(time.Second, func() { client.Close(); server.Close() })
		defer late.Stop()
		_, _ = io.Copy(client, server)
	}
}

// frames forwards whole frames until it has forwarded at least n bytes. If the proxy stopped
// within a frame, the client would read the following bytes as the frame's payload, and so as the
// value of a sample. The payload has no checksum.
func (p *proxy) frames(to io.Writer, from io.Reader, n int64) {
	for header := make([]byte, p.protocol.header); n > 0; {
		if _, err := io.ReadFull(from, header); err != nil {
			return
		}
		size := p.protocol.size(header)
		if _, err := to.Write(header); err != nil {
			return
		}
		if _, err := io.CopyN(to, from, size); err != nil {
			return
		}
		n -= int64(len(header)) + size
	}
}

// drip forwards n bytes one by one.
func drip(to io.Writer, from io.Reader, n int) {
	b := make([]byte, 1)
	for range n {
		if _, err := from.Read(b); err != nil {
			return
		}
		if _, err := to.Write(b); err != nil {
			return
		}
	}
}

// hold adds a connection to the open connections or removes it from them.
func (p *proxy) hold(c net.Conn, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.conns[c] = true
	} else {
		delete(p.conns, c)
	}
}

// await waits until the proxy has accepted a connection after the last one with a fault.
func (p *proxy) await(t *testing.T) {
	t.Helper()
	defer func() { t.Logf("%s accepted %d connections", p.listener.Addr(), p.accepted.Load()) }()
	program.Eventually(t, "the faulty connections are over", func() bool { return int(p.accepted.Load()) > p.faults })
}

// cut closes all connections to clients.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

// relay forwards search datagrams to a server and the answers back to the client. The answers
// then come from the relay's address.
func relay(t *testing.T, address, server string) {
	t.Helper()
	local, err := net.ListenPacket("udp4", address)
	if err != nil {
		t.Fatal(err)
	}
	to, err := net.ResolveUDPAddr("udp4", server)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var client atomic.Pointer[net.Addr]
	remote, err := net.DialUDP("udp4", nil, to)
	if err != nil {
		t.Fatal(err)
	}
	wg.Go(func() {
		pump(local.ReadFrom, func(b []byte, from net.Addr) { client.Store(&from); _, _ = remote.Write(b) })
	})
	wg.Go(func() {
		pump(remote.ReadFrom, func(b []byte, _ net.Addr) { _, _ = local.WriteTo(b, *client.Load()) })
	})
	t.Cleanup(func() { local.Close(); remote.Close(); wg.Wait() })
}

// pump forwards datagrams until the socket is closed.
func pump(read func([]byte) (int, net.Addr, error), to func([]byte, net.Addr)) {
	for b := make([]byte, 1<<16); ; {
		switch n, from, err := read(b); {
		case err == nil:
			to(b[:n], from)
		case errors.Is(err, net.ErrClosed):
			return
		}
	}
}

// channelAccess describes Channel Access with updates of scalar numbers. The frames of such
// updates are too short for an extended header. The oversized frame is an update of nearly 4
// GiB.
func channelAccess() protocol {
	b := []byte{0, 1, 0xff, 0xff, 0, 20, 0, 0} // EVENT_ADD, DBR_TIME_DOUBLE
	b = append(b, 0, 0, 0, 1, 0, 0, 0, 0)      // ECA_NORMAL, the first subscription
	b = binary.BigEndian.AppendUint32(b, 0xfffffff8)
	b = binary.BigEndian.AppendUint32(b, 0x1fffffff)
	return protocol{header: 16, oversized: b, size: func(header []byte) int64 {
		return int64(binary.BigEndian.Uint16(header[2:]))
	}}
}

// pvAccess describes pvAccess with little-endian messages, which servers on all common
// machines send. The oversized frame is an update of nearly 2 GiB.
func pvAccess() protocol {
	b := binary.LittleEndian.AppendUint32([]byte{0xca, 2, 0x40, 13}, 0x7ffffff0)
	return protocol{header: 8, oversized: b, size: func(header []byte) int64 {
		if control := header[2]&1 != 0; control {
			return 0 // a control message has data in place of a size
		}
		return int64(binary.LittleEndian.Uint32(header[4:]))
	}}
}
