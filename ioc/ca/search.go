package ca

import (
	"net/netip"

	"varve.dev/varve/engine/ca/proto"
)

// maxDatagram is the maximum size of a UDP payload.
const maxDatagram = 1<<16 - 1

// appendAnswer appends the answer to a SEARCH, if there is one.
func (s *Server) appendAnswer(dst []byte, h *proto.Header, payload []byte) []byte {
	if _, ok := s.Set.Find(proto.Text(payload)); ok {
		return proto.AppendSearchReply(dst, s.Addr, h.P1)
	}
	if proto.Reply(h.Type) == proto.DoReply {
		return proto.AppendNotFound(dst, h.P1)
	}
	return dst
}

// AppendAnswer appends the answer to a datagram of searches. It returns the address of the
// sender, to which the caller must send the answer. It appends nothing if no search gets an
// answer. The answers are never larger than the requests.
func (s *Server) AppendAnswer(dst, request []byte, from netip.AddrPort) (answer []byte, to netip.AddrPort) {
	start := len(dst)
	dst = proto.AppendVersion(dst, 0)
	head := len(dst)
	for len(request) > 0 {
		var h proto.Header
		payload, size, err := proto.ReadFrame(request, &h, maxDatagram)
		if err != nil {
			break
		}
		if seq, ok := proto.Sequence(&h); ok && len(dst) == head {
			dst = proto.AppendUDPVersion(dst[:start], seq)
		}
		if h.Command == proto.CmdSearch {
			dst = s.appendAnswer(dst, &h, payload)
		}
		request = request[size:]
	}
	if len(dst) == head {
		return dst[:start], from
	}
	return dst, from
}
