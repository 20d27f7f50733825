package pva

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync/atomic"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/search"
)

const (
	// sequenceWindow is how many datagrams back an answer may be for.
	sequenceWindow = 1 << 16
	// searchFlags is where a SEARCH has its flags.
	searchFlags = proto.HeaderSize + 4
)

// udp sends searches in datagrams and receives the answers.
type udp struct {
	*search.Socket
	client     *Client
	broadcasts []netip.Addr // of this host's interfaces
	replyTo    netip.AddrPort
	sequence   atomic.Uint32 // of the last SEARCH
}

func newUDP(c *Client) (*udp, error) {
	u := &udp{client: c}
	u.sequence.Store(rand.Uint32())
	config, m := &c.config, c.metrics
	var err error
	if u.broadcasts, err = search.Broadcasts(); err != nil {
		return nil, err
	}
	var auto []netip.Addr
	if config.AutoAddrList {
		auto = u.broadcasts
	}
	to, err := search.NewDestinations(config.AddrList, config.BroadcastPort, config.Resolve, auto...)
	if err != nil {
		return nil, err
	}
	to.Changed, to.Log, to.Errors = c.hastenSearch, config.Log, m.lookupErrors
	if u.Socket, err = search.NewSocket(to, config.Log, m.datagrams, m.datagramErrors); err != nil {
		return nil, err
	}
	u.replyTo = netip.AddrPortFrom(netip.IPv4Unspecified(), u.Port()) // where the datagram comes from
	return u, nil
}

func (u *udp) start() {
	u.client.wg.Go(func() { u.Receive(u.client.ctx, u.datagram) })
	u.client.wg.Go(func() { u.To.Run(u.client.ctx) })
}

// search sends batches to all destinations.
func (u *udp) search(batches []search.Batch) {
	datagrams := make([][]byte, 0, len(batches))
	for _, b := range batches {
		d := make([]byte, 0, search.MaxDatagram)
		datagrams = append(datagrams, appendBatch(d, b, u.sequence.Add(1), u.replyTo, 0))
	}
	u.Send(datagrams, func(d []byte, to netip.Addr) {
		d[searchFlags] = 0
		if u.unicast(to) {
			d[searchFlags] = proto.SearchUnicast // the server passes it on to others on its host
		}
	})
}

// unicast reports whether an address is that of one host.
func (u *udp) unicast(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	return !a.IsMulticast() && a != netip.AddrFrom4([4]byte{255, 255, 255, 255}) && !slices.Contains(u.broadcasts, a)
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
