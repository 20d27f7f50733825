package ca

import (
	"context"
	"net"
	"os"
	"sync"
	"time"

	"varve.dev/varve/engine/client/clienttest"
)

// faulty is a connection that breaks, delivers single bytes or stalls. It has an unbounded
// receive buffer, so that a server can send ahead of the client.
type faulty struct {
	net.Conn
	more chan struct{} // holds one token when the state changed

	mu       sync.Mutex
	buf      []byte
	err      error
	deadline time.Time
	held     bool
	drip     bool // deliver one byte at a time
	left     int  // number of bytes until the connection breaks; negative: it never breaks
}

// through returns a dial function for a network. The function passes each connection to f
// before it returns it.
func through(n *clienttest.Network, f func(c *faulty)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := n.Dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c := &faulty{Conn: conn, more: make(chan struct{}, 1), left: -1}
		f(c)
		go c.pump()
		return c, nil
	}
}

// pump reads from the server until the connection ends.
func (c *faulty) pump() {
	b := make([]byte, 4096)
	for {
		n, err := c.Conn.Read(b)
		c.mu.Lock()
		if c.left >= 0 {
			n = min(n, c.left)
			if c.left -= n; c.left == 0 {
				err = net.ErrClosed
			}
		}
		c.buf = append(c.buf, b[:n]...)
		c.err = err
		c.mu.Unlock()
		c.signal()
		if err != nil {
			_ = c.Conn.Close()
			return
		}
	}
}

func (c *faulty) signal() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// hold stops the delivery of bytes, or resumes it.
func (c *faulty) hold(held bool) {
	c.mu.Lock()
	c.held = held
	c.mu.Unlock()
	c.signal()
}

// SetReadDeadline implements net.Conn.
func (c *faulty) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return nil
}

// Read implements net.Conn.
func (c *faulty) Read(b []byte) (int, error) {
	for {
		n, wait, err := c.readBuffered(b)
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-c.more:
		case <-time.After(wait):
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// readBuffered returns buffered bytes, or how long to wait for them.
func (c *faulty) readBuffered(b []byte) (n int, wait time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.held {
		if c.drip && len(b) > 0 {
			b = b[:1]
		}
		if n = copy(b, c.buf); n > 0 {
			c.buf = c.buf[n:]
			return n, 0, nil
		}
		if c.err != nil {
			return 0, 0, c.err
		}
	}
	return 0, time.Until(c.deadline), nil
}

// Close implements net.Conn.
func (c *faulty) Close() error {
	err := c.Conn.Close()
	c.hold(false)
	return err
}
