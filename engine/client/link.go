package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"varve.dev/varve/engine/search"
	"varve.dev/varve/engine/wire"
)

const (
	// connectTimeout is the maximum time to connect to a server.
	connectTimeout = 5 * time.Second
	// writeTimeout is the maximum time in which a server must read a burst of requests.
	writeTimeout = 30 * time.Second
	// maxOutbox limits the bytes that wait for a server to read them. A channel has at most
	// about 200 bytes of requests, so only a server that no longer reads exceeds the limit.
	maxOutbox = 32 << 20
)

// Causes of a circuit's end.
var (
	ErrServerClosed = errors.New("the server closed the circuit")

	errIdle     = errors.New("no channel uses the circuit")
	errOverflow = errors.New("the server no longer reads requests")
)

// Circuit is a TCP connection to a server, shared by all its channels. A Circuit connects once
// and ends once. When a channel is found at the server again, a new Circuit follows. Each
// implementation embeds a *Link, which has some of the methods.
type Circuit interface {
	search.Circuit
	search.NameCircuit
	// Attach puts a channel on the circuit. It returns false if the circuit has ended
	// or the channel was closed meanwhile.
	Attach(ch *Channel, a Answer) bool
	// Detach takes a closed channel off the circuit.
	Detach(ch *Channel)
	// Read handles the messages of the server, and Write sends requests, until the circuit
	// ends. Both run at the same time, and both return the cause of the end.
	Read(conn net.Conn) error
	Write(conn net.Conn) error
	// Release returns all channels to the search, after the circuit has ended.
	Release(cause error)

	link() *Link
}

// Link connects a circuit, runs it, and ends it.
type Link struct {
	Server netip.AddrPort
	Host   string // Server as text, for sinks
	// Outbox has the requests to the server.
	Outbox *wire.Outbox
	// Inbox has the bytes from the server that are not handled yet. It is nil before Read.
	Inbox *wire.Buffer

	kernel *Kernel
	// ctx ends with the circuit. Its cause is the first cause given to cancel.
	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{} // run closes it when all channels are back in the search
	// conn is the connection of a probe, or nil if the circuit must connect.
	conn net.Conn

	// greeted is closed, under Kernel.mu, when the server has greeted the client.
	greeted chan struct{}
	// up means that the circuit was connected. acceptsSearches means that the server accepts
	// searches over TCP. pinned means that the circuit stays open without channels. Kernel.mu
	// guards these fields and identity.
	up, acceptsSearches, pinned bool
	identity                    string // from the server's latest answer
}

// NewLink returns the Link of a circuit. The circuit uses conn, or connects by itself if conn
// is nil.
func NewLink(k *Kernel, server netip.AddrPort, conn net.Conn) *Link {
	l := &Link{
		Server: server, Host: server.String(), Outbox: wire.NewOutbox(maxOutbox), kernel: k, conn: conn,
		done: make(chan struct{}), greeted: make(chan struct{}),
	}
	l.ctx, l.cancel = context.WithCancelCause(k.ctx)
	return l
}

// link returns l. With this method, a type that embeds a *Link can implement Circuit.
func (l *Link) link() *Link { return l } //nolint:unused // promoted to the circuits that embed a Link

// run connects the circuit, serves it, and returns its channels to the search.
func (l *Link) run(c Circuit) {
	defer close(l.done)
	life, err := l.serve(c)
	l.cancel(err) // has no effect if there already is a cause
	cause := context.Cause(l.ctx)
	blame := !errors.Is(cause, errIdle) && l.kernel.ctx.Err() == nil
	l.kernel.circuitEnded(l.Server, life, blame)
	if blame {
		level := slog.LevelInfo
		if life == 0 { // a server that is down usually stays down for long
			level = slog.LevelDebug
		}
		l.kernel.config.Log.Log(l.ctx, level, "circuit ended", "server", l.Server, "cause", cause)
	}
	c.Release(cause)
}

// serve connects, and reads and writes until the circuit ends. It returns how long the
// connection lasted.
func (l *Link) serve(c Circuit) (life time.Duration, err error) {
	m := l.kernel.metrics
	conn, err := l.connect()
	if err != nil {
		m.ConnectFailures.Inc()
		return 0, fmt.Errorf("connecting to %s: %w", l.Host, err)
	}
	began := time.Now()
	m.Circuits.Inc()
	stop := context.AfterFunc(l.ctx, func() { _ = conn.Close() })
	written := make(chan struct{})
	go func() {
		defer close(written)
		l.cancel(c.Write(conn))
	}()
	account := l.kernel.config.ReceiveMemory.Open(l.cancel, l.ctx.Done())
	l.Inbox = wire.NewBuffer(account)
	l.cancel(c.Read(conn))
	account.Close()
	<-written
	if stop() {
		_ = conn.Close()
	}
	m.Circuits.Dec()
	m.CircuitsEnded.Inc()
	return time.Since(began), nil
}

// connect returns the connection of the circuit.
func (l *Link) connect() (net.Conn, error) {
	if l.conn != nil {
		return l.conn, nil
	}
	ctx, cancel := context.WithTimeout(l.ctx, connectTimeout)
	defer cancel()
	return l.kernel.config.Dial(ctx, "tcp4", l.Host)
}

// Send queues requests.
func (l *Link) Send(appendTo func(dst []byte) []byte) {
	if !l.Outbox.Add(appendTo) {
		l.cancel(errOverflow)
	}
}

// Flush writes the requests in the outbox. It may use the buffer spare, and returns a buffer
// for the next call.
func (l *Link) Flush(conn net.Conn, spare []byte) ([]byte, error) {
	b := l.Outbox.Take(spare)
	if len(b) == 0 {
		return b, nil
	}
	if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return b, fmt.Errorf("writing to %s: %w", l.Host, err)
	}
	if _, err := conn.Write(b); err != nil {
		return b, fmt.Errorf("writing to %s: %w", l.Host, err)
	}
	l.kernel.metrics.SentBytes.Add(float64(len(b)))
	return b, nil
}

// MakeRoom makes room in Inbox after used bytes were handled: see wire.Buffer.Used. It returns
// how long it waited for memory.
func (l *Link) MakeRoom(used, need int, besides wire.Besides) (time.Duration, error) {
	waited, err := l.Inbox.Used(used, need, besides)
	if waited > 0 {
		l.kernel.metrics.ReceiveWaits.Add(waited.Seconds())
	}
	return waited, err
}

// ReadError returns the cause with which a circuit ends when a read fails with err.
func (l *Link) ReadError(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrServerClosed
	}
	return fmt.Errorf("reading from %s: %w", l.Host, err)
}

// Ending returns a channel that is closed when the circuit begins to end.
func (l *Link) Ending() <-chan struct{} { return l.ctx.Done() }

// SetUp records that the circuit is connected.
func (l *Link) SetUp() {
	l.kernel.mu.Lock()
	defer l.kernel.mu.Unlock()
	l.up = true
}

// IsUp reports whether the circuit is or was connected.
func (l *Link) IsUp() bool {
	l.kernel.mu.Lock()
	defer l.kernel.mu.Unlock()
	return l.up
}

// SetGreeted records that the server has greeted the client, and whether the server accepts
// searches over TCP. If a name server accepts them, the client searches for all names at once.
// Otherwise the client cannot use the name server, and neither can libca.
func (l *Link) SetGreeted(acceptsSearches bool) {
	l.kernel.mu.Lock()
	defer l.kernel.mu.Unlock()
	select {
	case <-l.greeted:
		return // the server has greeted the client before
	default:
	}
	close(l.greeted)
	l.up, l.acceptsSearches = true, acceptsSearches
	switch {
	case !l.pinned:
	case acceptsSearches:
		l.kernel.hastenLocked()
	default:
		l.kernel.config.Log.Warn("name server does not accept searches over TCP; remove it from the list", "server", l.Server)
	}
}

// Greeted returns a channel that is closed when the server has greeted the client.
func (l *Link) Greeted() <-chan struct{} { return l.greeted }

// Lost returns those of the names that are still lost at the server, and whether the server
// accepts searches over TCP.
func (l *Link) Lost(names []*search.Entry) (lost []*search.Entry, acceptsSearches bool) {
	l.kernel.mu.Lock()
	defer l.kernel.mu.Unlock()
	for _, e := range names {
		if e.LostAt(l.Server) {
			lost = append(lost, e)
		}
	}
	return lost, l.acceptsSearches
}

// EndUnlessPinned ends the circuit as idle, unless it is to a name server.
func (l *Link) EndUnlessPinned() {
	l.kernel.mu.Lock()
	pinned := l.pinned
	l.kernel.mu.Unlock()
	if !pinned {
		l.cancel(errIdle)
	}
}

// Done implements search.Circuit and search.NameCircuit.
func (l *Link) Done() <-chan struct{} { return l.done }

// Idle implements search.Circuit.
func (l *Link) Idle() bool { return errors.Is(context.Cause(l.ctx), errIdle) }

// PinLocked implements search.NameCircuit.
func (l *Link) PinLocked() { l.pinned = true }

// AcceptsSearchesLocked implements search.NameCircuit.
func (l *Link) AcceptsSearchesLocked() bool { return l.acceptsSearches && l.ctx.Err() == nil }

// End implements search.NameCircuit.
func (l *Link) End() (up bool, cause error) {
	l.kernel.mu.Lock()
	defer l.kernel.mu.Unlock()
	return l.up, context.Cause(l.ctx)
}
