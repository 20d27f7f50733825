package pva

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/search"
)

const (
	// sequenceWindow is how many datagrams back an answer may be for.
	sequenceWindow = 1 << 16
	// receiveBuffer is asked of the kernel for answers, which come in bursts.
	receiveBuffer = 1 << 20
	// searchFlags is where a SEARCH has its flags.
	searchFlags = proto.HeaderSize + 4
)

// udp sends searches in datagrams and receives the answers.
type udp struct {
	client     *Client
	to         *search.Destinations
	broadcasts []netip.Addr // of this host's interfaces
	conn       *net.UDPConn // nil if there is nobody to search
	replyTo    netip.AddrPort
	sequence   atomic.Uint32 // of the last SEARCH
}

func newUDP(c *Client) (*udp, error) {
	u := &udp{client: c}
	u.sequence.Store(rand.Uint32())
	var err error
	if u.broadcasts, err = search.Broadcasts(); err != nil {
		return nil, err
	}
	var auto []netip.Addr
	if c.config.AutoAddrList {
		auto = u.broadcasts
	}
	if u.to, err = search.NewDestinations(c.config.AddrList, c.config.BroadcastPort, c.config.Resolve, auto...); err != nil {
		return nil, err
	}
	u.to.Changed = c.news
	u.to.Failed = func(err error) {
		c.metrics.lookupErrors.Inc()
		c.config.Log.Debug("host name not resolved", "err", err)
	}
	if u.to.Empty() {
		return u, nil
	}
	if u.conn, err = net.ListenUDP("udp4", nil); err != nil {
		return nil, fmt.Errorf("opening the search socket: %w", err)
	}
	_ = u.conn.SetReadBuffer(receiveBuffer) // the kernel gives what it allows
	port := u.conn.LocalAddr().(*net.UDPAddr).AddrPort().Port()
	u.replyTo = netip.AddrPortFrom(netip.IPv4Unspecified(), port) // where the datagram comes from
	return u, nil
}

func (u *udp) start() {
	if u.conn == nil {
		return
	}
	u.client.wg.Go(u.receive)
	u.client.wg.Go(func() { u.to.Run(u.client.ctx) })
}

func (u *udp) close() {
	if u.conn != nil {
		_ = u.conn.Close() // ends receive; nothing was promised to be sent
	}
}

// search sends batches to all destinations. One that can not be sent is like one
// that is lost: the names are searched for again.
func (u *udp) search(batches []batch) {
	if u.conn == nil {
		return
	}
	var datagrams [][]byte
	for _, b := range batches {
		datagrams = append(datagrams, b.append(make([]byte, 0, maxDatagram), u.sequence.Add(1), u.replyTo, 0))
	}
	m := u.client.metrics
	for _, to := range u.to.Addresses() {
		unicast := u.unicast(to.Addr())
		for _, d := range datagrams {
			d[searchFlags] = 0
			if unicast {
				d[searchFlags] = proto.SearchUnicast // the server passes it on to others on its host
			}
			if _, err := u.conn.WriteToUDPAddrPort(d, to); err != nil {
				m.datagramErrors.Inc()
				u.client.config.Log.Debug("search datagram not sent", "to", to, "err", err)
				break
			}
			m.datagrams.Inc()
		}
	}
	u.to.Searched()
}

// unicast reports whether an address is that of one host.
func (u *udp) unicast(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	return !a.IsMulticast() && a != netip.AddrFrom4([4]byte{255, 255, 255, 255}) && !slices.Contains(u.broadcasts, a)
}

// receive handles answers until the socket is closed.
func (u *udp) receive() {
	receive(u.client, u.conn, u.datagram)
}

// receive hands the datagrams of a socket to handle until it is closed.
func receive(c *Client, conn *net.UDPConn, handle func(b []byte, from netip.Addr)) {
	buf := make([]byte, 1<<16)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		switch {
		case err == nil:
			handle(buf[:n], from.Addr().Unmap())
		case errors.Is(err, net.ErrClosed):
			return
		default: // of the kernel, and passing
			c.metrics.datagramErrors.Inc()
			select {
			case <-c.ctx.Done():
			case <-time.After(search.MinDelay):
			}
		}
	}
}

// datagram handles the messages of one datagram. What does not parse ends it, as
// does a sequence number that is not of a recent search: the answer is to somebody
// else, or far too late.
func (u *udp) datagram(b []byte, from netip.Addr) {
	for len(b) > 0 {
		var h proto.Header
		payload, n, err := proto.ReadFrame(b, &h, uint32(len(b)))
		if err != nil {
			return
		}
		b = b[n:]
		if _, control := h.Control(); control || h.Command != proto.CmdSearchResponse {
			continue
		}
		r := proto.NewReader(payload, h.Order())
		s, err := proto.ParseSearchResponse(&r)
		if err != nil || u.sequence.Load()-s.Sequence >= sequenceWindow {
			return
		}
		for _, a := range answers(&s, from, nil) {
			u.client.found(a)
		}
	}
}

// answers appends what a SEARCH_RESPONSE from an address says of channels.
func answers(s *proto.SearchResponse, from netip.Addr, dst []answer) []answer {
	if !s.Found || s.Protocol != "tcp" {
		return dst
	}
	server := s.Server
	if !server.Addr().IsValid() {
		server = netip.AddrPortFrom(from, server.Port())
	}
	for _, cid := range s.CIDs {
		dst = append(dst, answer{cid: cid, server: server, guid: s.GUID})
	}
	return dst
}
