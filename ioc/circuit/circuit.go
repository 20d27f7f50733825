package circuit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	"varve.dev/varve/ioc/sim"
)

const (
	// WriteSize is the approximate size of a write in bytes.
	WriteSize = 64 << 10
	// NoTurn is the wait when no turn is scheduled. Only a request can end it.
	NoTurn = time.Duration(math.MaxInt64)
)

// Config has the configuration that all circuits of a server share.
type Config struct {
	Schedule *sim.Schedule
	Counts   *Counts
	// MaxLag is the maximum time by which a circuit may be behind the clock.
	MaxLag time.Duration
}

// Speaker implements a protocol for one client. One goroutine calls its methods.
type Speaker interface {
	// Handle handles the requests at the start of b, and returns their size in bytes. An
	// incomplete request at the end stays in the buffer. An error ends the circuit.
	Handle(b []byte) (n int, err error)
	// Ready reports whether the Speaker can send turns now.
	Ready() bool
	// Send sends the updates of a turn with a time of the schedule, and returns their
	// number.
	Send(turn, at int64) (sent int, err error)
	// Pass is called instead of Send for a skipped turn. It returns the number of updates that
	// the client loses.
	Pass(turn int64) (lost int)
}

// Circuit is one client's connection.
type Circuit struct {
	cfg Config
	out *bufio.Writer // to the client

	// turn is the next turn to send. last is the time at which the previous turn was due or,
	// without a clock, was sent.
	turn, last    int64
	setup         int64 // when the client last requested a channel or subscription
	subscriptions int
}

// New returns a circuit that writes to out.
func New(cfg Config, out io.Writer) *Circuit {
	c := &Circuit{
		cfg: cfg, out: bufio.NewWriterSize(meter{out, &cfg.Counts.bytes}, WriteSize),
		turn: 1, last: cfg.Schedule.Now(),
	}
	c.catchUp()
	return c
}

// Run serves the client until the client disconnects, conn is closed or the client violates
// the protocol. It closes conn. No request, together with the bytes before it in a message,
// may be larger than readSize.
func (c *Circuit) Run(conn net.Conn, s Speaker, readSize int) error {
	c.cfg.Counts.circuits.Add(1)
	defer c.cfg.Counts.circuits.Add(-1)
	requests, handled := make(chan []byte), make(chan int)
	done := make(chan error, 1)
	go func() { done <- receive(conn, make([]byte, readSize), requests, handled) }()
	err := c.loop(s, requests, handled)
	c.Subscribed(-c.subscriptions)
	_ = conn.Close() // ends the reads
	close(handled)
	if readErr := <-done; err == nil {
		err = readErr
	}
	return err
}

// receive reads bytes from the client and sends them to requests. Each time it sends all
// unhandled bytes, starting at the first byte of a request. It closes requests at the end of
// the connection, and returns when handled is closed.
func receive(conn net.Conn, buf []byte, requests chan<- []byte, handled <-chan int) error {
	defer close(requests)
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

// loop alternates between updates and requests, so that neither waits long for the other.
func (c *Circuit) loop(s Speaker, requests <-chan []byte, handled chan<- int) error {
	timer := time.NewTimer(NoTurn)
	defer timer.Stop()
	for {
		wait, err := c.Update(s)
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
		n, err := s.Handle(b)
		if err != nil {
			return errors.Join(err, c.Flush())
		}
		handled <- n
	}
}

// next returns the bytes that the client sent, or nothing if the next turn is due first. open
// is false when the client has disconnected.
func (c *Circuit) next(requests <-chan []byte, timer *time.Timer, wait time.Duration) (b []byte, open bool, err error) {
	if wait == 0 {
		select {
		case b, open = <-requests:
			return b, open, nil
		default:
			return nil, true, nil
		}
	}
	if err := c.Flush(); err != nil {
		return nil, false, err
	}
	timer.Reset(wait)
	select {
	case b, open = <-requests:
		return b, open, nil
	case <-timer.C:
		return nil, true, nil
	}
}

// Write buffers bytes for the client. Flush sends them.
func (c *Circuit) Write(b []byte) error {
	if _, err := c.out.Write(b); err != nil {
		return fmt.Errorf("writing to a client: %w", err)
	}
	return nil
}

// Flush sends the buffered bytes.
func (c *Circuit) Flush() error {
	if err := c.out.Flush(); err != nil {
		return fmt.Errorf("writing to a client: %w", err)
	}
	return nil
}
