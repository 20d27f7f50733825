package ca

import (
	"errors"
	"net"
	"os"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/wire"
)

const (
	// echoTimeout is the maximum time that a server may take to answer an ECHO.
	echoTimeout = 5 * time.Second
	// lateWake is a delay of a read deadline. If a deadline fires later than this, the client
	// assumes that this process was stopped. An answer of the server may then be waiting to be
	// read.
	lateWake = time.Second

	// behindTime is the time for which every read must fill the buffer before the client
	// counts as behind the server.
	behindTime = 2 * time.Second
	// drainTime is how long a server must be silent after EVENTS_OFF before the client assumes
	// that the server has sent everything.
	drainTime = time.Second
)

// reader reads from the server.
type reader struct {
	circuit *circuit
	conn    net.Conn
	probing bool      // an ECHO was sent, and nothing arrived since
	full    time.Time // when reads began to fill the buffer; zero if the last read did not fill it
	off     bool      // EVENTS_OFF was sent
}

// Read implements client.Circuit.
func (c *circuit) Read(conn net.Conn) error {
	c.SetUp()
	r := reader{circuit: c, conn: conn}
	for {
		n, err := r.next()
		now := time.Now()
		if err == nil {
			err = r.handle(n, now)
		}
		if err != nil {
			if c.client.kernel.Context().Err() == nil {
				c.reportLoss(now)
			}
			return err
		}
	}
}

// next reads more bytes. If the server is silent, next sends an ECHO once.
func (r *reader) next() (int, error) {
	for {
		wait := r.circuit.client.config.ConnTimeout
		switch {
		case r.probing:
			wait = echoTimeout
		case r.off:
			wait = drainTime
		}
		deadline := time.Now().Add(wait)
		if err := r.conn.SetReadDeadline(deadline); err != nil {
			return 0, r.circuit.ReadError(err)
		}
		n, err := r.conn.Read(r.circuit.Inbox.Free())
		switch {
		case n > 0: // the next read returns the error again
			r.probing = false
			return n, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			if err := r.handleSilence(time.Since(deadline)); err != nil {
				return 0, err
			}
		default:
			return 0, r.circuit.ReadError(err)
		}
	}
}

// handleSilence handles a read deadline that has expired. late is the delay with which it
// fired.
func (r *reader) handleSilence(late time.Duration) error {
	switch {
	case r.probing && late < lateWake:
		return errSilent
	case r.off && !r.probing:
		r.resume(time.Now())
	default:
		r.probing = true
		r.circuit.Send(proto.AppendEcho)
	}
	return nil
}

// handle handles n more bytes.
func (r *reader) handle(n int, now time.Time) error {
	c := r.circuit
	c.client.metrics.ReceivedBytes.Add(float64(n))
	full := n == len(c.Inbox.Free())
	used, need, err := c.batch(c.Inbox.Filled(n), now)
	if err != nil {
		return c.ReadError(err)
	}
	r.throttle(full, now)
	c.scratch = c.Inbox.Trim(c.scratch)
	waited, err := c.MakeRoom(used, need, wire.Besides{Bytes: cap(c.scratch)})
	c.partial.Waited(waited)
	return err
}

// throttle sends EVENTS_OFF when this client is behind the server. The server then keeps only
// the latest update of each channel, as it does when the circuit is full. full reports whether
// the last read filled the buffer.
func (r *reader) throttle(full bool, now time.Time) {
	switch {
	case !full && r.off:
		r.resume(now)
	case !full:
		r.full = time.Time{}
	case r.full.IsZero():
		r.full = now
	case !r.off && now.Sub(r.full) >= behindTime:
		r.off = true
		r.circuit.client.metrics.eventsOff.Inc()
		r.circuit.Send(proto.AppendEventsOff)
	}
}

// resume sends EVENTS_ON, because the client has handled everything that the server sent.
func (r *reader) resume(now time.Time) {
	r.circuit.Send(proto.AppendEventsOn)
	r.circuit.reportStallSince(r.full, now)
	r.off, r.full = false, time.Time{}
}
