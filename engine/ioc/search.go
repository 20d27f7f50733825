package ioc

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"

	"varve.dev/varve/engine/ca/proto"
)

// maxDatagram is the largest payload of UDP.
const maxDatagram = 1<<16 - 1

// appendAnswer appends the answer to a SEARCH, if it gets one. addr is where
// circuits connect.
func (n *names) appendAnswer(dst []byte, h *proto.Header, payload []byte, addr netip.AddrPort) []byte {
	if _, _, ok := n.find(proto.Text(payload)); ok {
		return proto.AppendSearchReply(dst, addr, h.P1)
	}
	if proto.Reply(h.Type) == proto.DoReply {
		return proto.AppendNotFound(dst, h.P1)
	}
	return dst
}

// appendDatagram appends the answer to a datagram of searches; nothing if it has
// none that get one. The answers are never larger than the requests.
func (n *names) appendDatagram(dst, request []byte, addr netip.AddrPort) []byte {
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
			dst = n.appendAnswer(dst, &h, payload, addr)
		}
		request = request[size:]
	}
	if len(dst) == head {
		return dst[:start]
	}
	return dst
}

// answerSearches answers datagrams until conn is closed.
func answerSearches(conn *net.UDPConn, n *names, addr netip.AddrPort, log *slog.Logger) error {
	in, out := make([]byte, maxDatagram), []byte(nil)
	for {
		size, from, err := conn.ReadFromUDPAddrPort(in)
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receiving searches: %w", err)
		}
		out = n.appendDatagram(out[:0], in[:size], addr)
		if len(out) == 0 {
			continue
		}
		if _, err := conn.WriteToUDPAddrPort(out, from); err != nil && !errors.Is(err, net.ErrClosed) {
			log.Debug("could not answer a search", "client", from, "error", err) // it will ask again
		}
	}
}
