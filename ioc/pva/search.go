package pva

import (
	"net/netip"
	"slices"

	"varve.dev/varve/engine/pva/proto"
)

// AppendAnswer appends the answer to a datagram of searches, and returns the address to which
// the caller must send it. This is from, unless the search has another address. It appends
// nothing if no search gets an answer. The answers are never larger than the requests.
func (s *Server) AppendAnswer(dst, request []byte, from netip.AddrPort) (answer []byte, to netip.AddrPort) {
	to = from
	for len(request) > 0 {
		var h proto.Header
		payload, n, err := proto.ReadFrame(request, &h, uint32(len(request)))
		if err != nil {
			break
		}
		request = request[n:]
		if _, control := h.Control(); control || h.Command != proto.CmdSearch {
			continue
		}
		r := proto.NewReader(payload, h.Order())
		q, err := proto.ParseSearch(&r)
		if err != nil {
			break
		}
		dst = s.appendFound(dst, &q)
		if q.ReplyTo.Port() != 0 {
			to = netip.AddrPortFrom(from.Addr(), q.ReplyTo.Port())
		}
		if q.ReplyTo.Addr().IsValid() {
			to = netip.AddrPortFrom(q.ReplyTo.Addr(), to.Port())
		}
	}
	return dst, to
}

// appendFound appends the answer to a SEARCH, if there is one.
func (s *Server) appendFound(dst []byte, q *proto.Search) []byte {
	if len(q.Protocols) > 0 && !slices.Contains(q.Protocols, "tcp") {
		return dst
	}
	a := proto.SearchResponse{GUID: s.guid, Sequence: q.Sequence, Server: s.addr, Protocol: "tcp"}
	for _, ch := range q.Channels {
		if _, ok := s.set.Find([]byte(ch.Name)); ok {
			a.CIDs = append(a.CIDs, ch.CID)
		}
	}
	a.Found = len(a.CIDs) > 0
	if !a.Found && q.Flags&proto.SearchReply == 0 {
		return dst
	}
	return proto.AppendSearchResponse(dst, &a, fromServer)
}
