package ca

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/ca/proto"
)

const (
	// resolveInterval is the least time between two look-ups of the names in the
	// address list, which go on as long as channels are searched for.
	resolveInterval = 2 * time.Second
	// sequenceWindow is how many datagrams back an answer may be for.
	sequenceWindow = 1 << 16
	// caprotoSequence is what servers of caproto answer with, whatever they were sent.
	caprotoSequence = 1
	// receiveBuffer is asked of the kernel for answers, which come in bursts.
	receiveBuffer = 1 << 20
)

// udp sends searches in datagrams and receives the answers.
type udp struct {
	client *Client
	conn   *net.UDPConn // nil if there is nobody to search
	// fixed are the destinations that need no look-up, names those that do.
	fixed []netip.AddrPort
	names []string
	// destinations are fixed and what names resolved to last.
	destinations atomic.Pointer[[]netip.AddrPort]
	lookUp       chan struct{} // holds one token: a round of searches was sent
	sequence     atomic.Uint32 // of the last datagram
}

func newUDP(c *Client) (*udp, error) {
	u := &udp{client: c, lookUp: make(chan struct{}, 1)}
	u.sequence.Store(rand.Uint32())
	for _, address := range c.config.AddrList {
		if isName(address) {
			if _, _, err := splitAddress(address, 1); err != nil {
				return nil, fmt.Errorf("reading the address list: %w", err)
			}
			u.names = append(u.names, address)
			continue
		}
		fixed, err := c.config.resolve(context.Background(), address)
		if err != nil {
			return nil, fmt.Errorf("reading the address list: %w", err)
		}
		u.fixed = append(u.fixed, fixed...)
	}
	if c.config.AutoAddrList {
		broadcasts, err := broadcastAddresses()
		if err != nil {
			return nil, err
		}
		for _, ip := range broadcasts {
			u.fixed = append(u.fixed, netip.AddrPortFrom(ip, c.config.ServerPort))
		}
	}
	u.fixed = distinct(u.fixed)
	u.destinations.Store(&u.fixed)
	if len(u.fixed)+len(u.names) == 0 {
		return u, nil
	}
	conn, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return nil, fmt.Errorf("opening the search socket: %w", err)
	}
	u.conn = conn
	_ = conn.SetReadBuffer(receiveBuffer) // the kernel gives what it allows
	return u, nil
}

// distinct sorts a list of addresses and removes repeated ones.
func distinct(list []netip.AddrPort) []netip.AddrPort {
	slices.SortFunc(list, netip.AddrPort.Compare)
	return slices.Compact(list)
}

func (u *udp) start() {
	if u.conn == nil {
		return
	}
	u.client.wg.Go(u.receive)
	if len(u.names) > 0 {
		u.client.wg.Go(u.runLookUps)
	}
}

func (u *udp) close() {
	if u.conn != nil {
		_ = u.conn.Close() // ends receive; nothing was promised to be sent
	}
}

// begin returns the start of a datagram: its VERSION message.
func (u *udp) begin() []byte {
	return proto.AppendUDPVersion(make([]byte, 0, maxDatagram), u.sequence.Add(1))
}

// send sends datagrams to all destinations. One that can not be sent is like one
// that is lost: the name is searched for again.
func (u *udp) send(datagrams [][]byte) {
	if u.conn == nil {
		return
	}
	m := u.client.metrics
	for _, to := range *u.destinations.Load() {
		for _, d := range datagrams {
			if _, err := u.conn.WriteToUDPAddrPort(d, to); err != nil {
				m.datagramErrors.Inc()
				u.client.config.Log.Debug("search datagram not sent", "to", to, "err", err)
				break
			}
			m.datagrams.Inc()
		}
	}
	select {
	case u.lookUp <- struct{}{}:
	default:
	}
}

// receive handles answers until the socket is closed.
func (u *udp) receive() {
	buf := make([]byte, 1<<16)
	for {
		n, from, err := u.conn.ReadFromUDPAddrPort(buf)
		switch {
		case err == nil:
			u.datagram(buf[:n], from.Addr())
		case errors.Is(err, net.ErrClosed):
			return
		default: // of the kernel, and passing
			u.client.metrics.datagramErrors.Inc()
			select {
			case <-u.client.ctx.Done():
			case <-time.After(minSearchDelay):
			}
		}
	}
}

// datagram handles the messages of one datagram. What does not parse ends it, as
// does a sequence number that is not of a recent search: the answer is to
// somebody else, or far too late.
func (u *udp) datagram(b []byte, from netip.Addr) {
	for len(b) > 0 {
		var h proto.Header
		payload, n, err := proto.ReadFrame(b, &h, uint32(len(b)))
		if err != nil {
			return
		}
		b = b[n:]
		if seq, ok := proto.Sequence(&h); ok && u.sequence.Load()-seq >= sequenceWindow && seq != caprotoSequence {
			return
		}
		if h.Command == proto.CmdSearch {
			cid, server := proto.ParseSearchReply(&h, from)
			u.client.found(answer{cid: cid, server: server, minor: proto.ServerMinor(payload)})
		}
	}
}

// runLookUps keeps the destinations up to date while there are searches, so that
// an IOC that comes back under its name with another address is found.
func (u *udp) runLookUps() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-u.client.ctx.Done():
			return
		case <-timer.C:
		}
		if u.lookUpAll() {
			u.client.hastenSearch()
		}
		select {
		case <-u.client.ctx.Done():
			return
		case <-u.lookUp:
			timer.Reset(resolveInterval)
		}
	}
}

// lookUpAll resolves the names and reports whether the destinations changed. With
// one name that does not resolve, all keep what they had and have.
func (u *udp) lookUpAll() bool {
	before := *u.destinations.Load()
	after := slices.Clone(u.fixed)
	failed := false
	for _, name := range u.names {
		found, err := u.client.config.resolve(u.client.ctx, name)
		if err != nil {
			failed = true
			u.client.metrics.lookupErrors.Inc()
			u.client.config.Log.Debug("host name not resolved", "err", err)
		}
		after = append(after, found...)
	}
	if failed {
		after = append(after, before...)
	}
	after = distinct(after)
	u.destinations.Store(&after)
	return !slices.Equal(before, after)
}
