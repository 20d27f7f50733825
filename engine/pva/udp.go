package pva

import (
	"net/netip"
	"slices"

	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/search"
)

// searchFlags is the offset of the flags of a SEARCH.
const searchFlags = proto.HeaderSize + 4

// udp sends searches in datagrams and handles the answers.
type udp struct {
	client     *Client
	broadcasts []netip.Addr // broadcast addresses of this host's interfaces
}

func newUDP(c *Client) (*udp, error) {
	subnets, err := search.Subnets()
	return &udp{client: c, broadcasts: search.Broadcasts(subnets)}, err
}

// sendSearches sends batches to all destinations.
func (u *udp) sendSearches(batches []search.Batch) {
	socket := u.client.kernel.Socket()
	replyTo := netip.AddrPortFrom(netip.IPv4Unspecified(), socket.Port()) // the unspecified address stands for the sender of the datagram
	datagrams := make([][]byte, 0, len(batches))
	for _, b := range batches {
		d := make([]byte, 0, search.MaxDatagram)
		datagrams = append(datagrams, appendBatch(d, b, replyTo, 0))
	}
	socket.Send(datagrams, func(d []byte, to netip.Addr) {
		d[searchFlags] = 0
		if u.unicast(to) {
			d[searchFlags] = proto.SearchUnicast // the server forwards the search to other servers on its host
		}
	})
}

// appendBatch appends a SEARCH for the names of a batch. Servers send the answer to replyTo.
// appendBatch needs no lock, because the names and numbers of entries never change.
func appendBatch(dst []byte, b search.Batch, replyTo netip.AddrPort, f proto.Flags) []byte {
	start := len(dst)
	dst = proto.AppendSearchHead(dst, b.Sequence, 0, replyTo, f)
	for _, e := range b.Entries {
		dst = proto.AppendSearchChannel(dst, e.ID, e.Name, proto.Order(f&proto.FlagBig != 0))
	}
	return proto.FinishSearch(dst, start, len(b.Entries))
}

// unicast reports whether an address belongs to one host.
func (u *udp) unicast(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	return !a.IsMulticast() && a != netip.AddrFrom4([4]byte{255, 255, 255, 255}) && !slices.Contains(u.broadcasts, a)
}

// handleDatagram handles the messages of one datagram. It stops at a message that does not
// parse. Every server repeats the sequence number of the search, so the address of the sender
// does not matter.
func (u *udp) handleDatagram(b []byte, from netip.Addr) {
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
		if err != nil {
			return
		}
		origin := client.Origin{Sequence: s.Sequence, Sequenced: true}
		for _, a := range appendAnswers(nil, &s, from, origin) {
			u.client.kernel.Found(a)
		}
	}
}

// appendAnswers appends the answers in a SEARCH_RESPONSE from an address.
func appendAnswers(dst []client.Answer, s *proto.SearchResponse, from netip.Addr, origin client.Origin) []client.Answer {
	if !s.Found || s.Protocol != "tcp" {
		return dst
	}
	server := s.Server
	if !server.Addr().IsValid() {
		server = netip.AddrPortFrom(from, server.Port())
	}
	identity := string(s.GUID[:])
	for _, cid := range s.CIDs {
		dst = append(dst, client.Answer{ID: cid, Server: server, Origin: origin, Identity: identity})
	}
	return dst
}
