package circuit

import (
	"io"
	"sync/atomic"
)

// Counts holds the counts of all circuits of a server. Circuits add to them once per turn, not
// per event. The zero value is ready to use.
type Counts struct {
	circuits, subscriptions atomic.Int64
	sent, dropped, bytes    atomic.Uint64
}

// Circuits returns the number of clients that are connected.
func (c *Counts) Circuits() int64 { return c.circuits.Load() }

// Subscriptions returns the number of active subscriptions.
func (c *Counts) Subscriptions() int64 { return c.subscriptions.Load() }

// Sent returns the number of updates sent, including the first updates of subscriptions.
func (c *Counts) Sent() uint64 { return c.sent.Load() }

// Dropped returns the number of updates dropped because a client was slow.
func (c *Counts) Dropped() uint64 { return c.dropped.Load() }

// Bytes returns the number of bytes sent.
func (c *Counts) Bytes() uint64 { return c.bytes.Load() }

// meter counts the bytes that are written to w.
type meter struct {
	w     io.Writer
	bytes *atomic.Uint64
}

// Write implements io.Writer.
func (m meter) Write(b []byte) (int, error) {
	n, err := m.w.Write(b)
	m.bytes.Add(uint64(n))
	return n, err
}
