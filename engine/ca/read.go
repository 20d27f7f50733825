package ca

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/wire"
)

const (
	// echoTimeout is how long a server may take to answer an ECHO.
	echoTimeout = 5 * time.Second
	// lateWake is how late a deadline must come for this process to have been
	// stopped: then what the server sent meanwhile may wait to be read.
	lateWake = time.Second

	// behindTime is how long reads must have been full, without a break, for the
	// client to be behind the server.
	behindTime = 2 * time.Second
	// drainTime is how long nothing must come for a server that was sent
	// EVENTS_OFF to have sent all.
	drainTime = time.Second
)

// reader reads what the server sends.
type reader struct {
	circuit *circuit
	conn    net.Conn
	buf     wire.Buffer
	probing bool      // an ECHO was sent, and nothing came since
	full    time.Time // since when reads fill the buffer; zero if the last did not
	off     bool      // EVENTS_OFF was sent
}

// read handles what the server sends until the circuit is over.
func (c *circuit) read(conn net.Conn) error {
	r := reader{circuit: c, conn: conn}
	for {
		n, err := r.next()
		now := time.Now()
		if err == nil {
			err = r.handle(n, now)
		}
		if err != nil {
			if c.client.ctx.Err() == nil {
				c.cutOff(now)
			}
			return err
		}
	}
}

// next reads more bytes. A server that is silent is sent an ECHO, once.
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
			return 0, fmt.Errorf("reading from %s: %w", r.circuit.host, err)
		}
		n, err := r.conn.Read(r.buf.Free())
		switch {
		case n > 0: // an error comes again
			r.probing = false
			return n, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			if err := r.silent(time.Since(deadline)); err != nil {
				return 0, err
			}
		case errors.Is(err, io.EOF):
			return 0, errServer
		default:
			return 0, fmt.Errorf("reading from %s: %w", r.circuit.host, err)
		}
	}
}

// silent handles a deadline that passed, and was noticed late by some time.
func (r *reader) silent(late time.Duration) error {
	switch {
	case r.probing && late < lateWake:
		return errSilent
	case r.off && !r.probing:
		r.drained(time.Now())
	default:
		r.probing = true
		r.circuit.send(proto.AppendEcho)
	}
	return nil
}

// handle handles n more bytes.
func (r *reader) handle(n int, now time.Time) error {
	c := r.circuit
	c.client.metrics.receivedBytes.Add(float64(n))
	full := n == len(r.buf.Free())
	used, need, err := c.batch(r.buf.Filled(n), now)
	if err != nil {
		return fmt.Errorf("reading from %s: %w", c.host, err)
	}
	r.control(full, now)
	r.buf.Used(used, need)
	return nil
}

// control tells the server to hold its updates when this client is behind it. The
// server then keeps the latest update of each channel only, as it does when the
// circuit is full, but knows why.
func (r *reader) control(full bool, now time.Time) {
	switch {
	case !full && r.off:
		r.drained(now)
	case !full:
		r.full = time.Time{}
	case r.full.IsZero():
		r.full = now
	case !r.off && now.Sub(r.full) >= behindTime:
		r.off = true
		r.circuit.client.metrics.eventsOff.Inc()
		r.circuit.send(proto.AppendEventsOff)
	}
}

// drained has a server go on with its updates, as all that it sent was handled.
func (r *reader) drained(now time.Time) {
	r.circuit.send(proto.AppendEventsOn)
	r.circuit.stalledSince(r.full, now)
	r.off, r.full = false, time.Time{}
}
