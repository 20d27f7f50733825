package ioc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"time"

	"varve.dev/varve/engine/ca/proto"
)

const (
	writeSize = 64 << 10 // bytes of a write, about
	readSize  = 32 << 10 // of a read; any request fits
	noTurn    = time.Duration(math.MaxInt64)
)

// circuit serves one client's TCP connection. All of its state belongs to the
// goroutine of run.
type circuit struct {
	names *names
	sched *schedule
	stats *counters
	addr  netip.AddrPort // of the server, for searches
	lag   time.Duration  // how far behind the clock it may be

	out *bufio.Writer // to the client
	enc encoder
	buf []byte // scratch for an answer

	channels map[uint32]*channel // by the server's id
	lastSID  uint32
	places   map[uint32]place // of subscriptions, by the client's id
	memory   int              // bytes of all frames
	slices   []slice
	paused   bool // EVENTS_OFF

	// turn is the next one to send; last is when the one before was due, or
	// without a clock, was sent.
	turn, last int64
	setup      int64 // when the client last asked for a channel or subscription
}

// slice is the circuit's part of a slice of the schedule.
type slice struct {
	every  group // every update
	alarms group // alarm changes only, or nothing but the first value
}

// place is where a subscription is.
type place struct {
	sid    uint32
	slice  int32
	pos    int32
	alarms bool
}

func newCircuit(s *Server, out io.Writer) *circuit {
	c := &circuit{
		names: s.names, sched: s.sched, stats: &s.stats, addr: s.addr, lag: s.cfg.MaxLag,
		out:      bufio.NewWriterSize(out, writeSize),
		channels: map[uint32]*channel{},
		places:   map[uint32]place{},
		slices:   make([]slice, s.sched.slices),
		turn:     1,
		last:     s.sched.now(),
	}
	c.catchUp()
	c.buf = proto.AppendVersion(c.buf, 0) // the server speaks first
	return c
}

// run serves the client until it hangs up, conn is closed or it breaks the
// protocol. It closes conn.
func (c *circuit) run(conn net.Conn) error {
	requests, handled := make(chan []byte), make(chan int)
	done := make(chan error, 1)
	go func() { done <- receive(conn, requests, handled) }()
	err := c.loop(requests, handled)
	c.stats.subscriptions.Add(-int64(len(c.places)))
	_ = conn.Close() // ends the reads
	close(handled)
	if readErr := <-done; err == nil {
		err = readErr
	}
	return err
}

// receive passes on what it reads: all that was not handled yet, again from the
// first byte of a request. It closes requests when there is no more, and ends
// when handled is closed.
func receive(conn net.Conn, requests chan<- []byte, handled <-chan int) error {
	defer close(requests)
	buf := make([]byte, readSize)
	n := 0
	for {
		got, err := conn.Read(buf[n:])
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading from a client: %w", err)
		}
		n += got
		select {
		case requests <- buf[:n]:
		case <-handled:
			return nil
		}
		done, ok := <-handled
		if !ok {
			return nil
		}
		n = copy(buf, buf[done:n])
	}
}

// loop sends updates and handles requests in turn, so that neither waits for
// long for the other.
func (c *circuit) loop(requests <-chan []byte, handled chan<- int) error {
	if err := c.write(c.buf); err != nil {
		return err
	}
	timer := time.NewTimer(noTurn)
	defer timer.Stop()
	for {
		wait, err := c.update()
		if err != nil {
			return err
		}
		b, open, err := c.next(requests, timer, wait)
		if err != nil || !open {
			return err
		}
		if len(b) == 0 {
			continue
		}
		n, err := c.handle(b)
		if err != nil {
			return errors.Join(err, c.out.Flush())
		}
		handled <- n
	}
}

// next returns what the client sent, or nothing if the next turn is to come
// first. open is false when the client has hung up.
func (c *circuit) next(requests <-chan []byte, timer *time.Timer, wait time.Duration) (b []byte, open bool, err error) {
	if wait == 0 {
		select {
		case b, open = <-requests:
			return b, open, nil
		default:
			return nil, true, nil
		}
	}
	if err := c.out.Flush(); err != nil {
		return nil, false, fmt.Errorf("writing to a client: %w", err)
	}
	timer.Reset(wait)
	select {
	case b, open = <-requests:
		return b, open, nil
	case <-timer.C:
		return nil, true, nil
	}
}
