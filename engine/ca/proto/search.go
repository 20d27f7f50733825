package proto

import (
	"encoding/binary"
	"net/netip"
)

// senderIP is the first parameter of an answer to SEARCH if the sender of the answer is the
// server itself.
const senderIP = 0xffffffff

// sequenceValid is a bit of the Type of a UDP VERSION message. It means that P1 is a sequence
// number, which the server repeats in its answer.
const sequenceValid = 1

// AppendUDPVersion appends the VERSION message at the start of a datagram of SEARCH messages,
// or of answers to them. The message has the sequence number of the datagram.
func AppendUDPVersion(dst []byte, sequence uint32) []byte {
	return AppendHeader(dst, Header{Command: CmdVersion, Type: sequenceValid, Count: Minor, P1: sequence})
}

// Sequence returns the sequence number of a UDP VERSION message, and whether it has one.
func Sequence(h *Header) (uint32, bool) {
	return h.P1, h.Command == CmdVersion && h.Type&sequenceValid != 0
}

// AppendSearch appends a request to find a channel. The answers repeat cid.
func AppendSearch(dst []byte, name string, cid uint32, reply Reply) []byte {
	return appendText(dst, Header{Command: CmdSearch, Type: uint16(reply), Count: Minor, P1: cid, P2: cid}, name)
}

// SearchSize returns the number of bytes that AppendSearch appends for a name of n bytes.
func SearchSize(n int) int { return HeaderSize + Padded(n+1) }

// AppendSearchReply appends a server's answer to a SEARCH. server is the address of the server
// that has the channel. If it is unspecified or an IPv6 address, the client uses the address
// of the answer's sender.
func AppendSearchReply(dst []byte, server netip.AddrPort, cid uint32) []byte {
	ip := uint32(senderIP)
	if known := bits(server.Addr()); known != 0 {
		ip = known
	}
	dst = AppendHeader(dst, Header{Command: CmdSearch, Size: align, Type: server.Port(), P1: ip, P2: cid})
	dst = binary.BigEndian.AppendUint16(dst, Minor)
	return appendZeros(dst, align-2)
}

// ParseSearchReply returns the channel ID and the server's address in an answer to a SEARCH.
// from is the address of the sender.
func ParseSearchReply(h *Header, from netip.Addr) (cid uint32, server netip.AddrPort) {
	addr := from.Unmap()
	if h.P1 != senderIP && h.P1 != 0 {
		addr = addrOf(h.P1)
	}
	return h.P2, netip.AddrPortFrom(addr, h.Type)
}

// ServerMinor returns the minor protocol revision in the payload of an answer to a SEARCH, or
// 0 if it has none.
func ServerMinor(payload []byte) uint16 {
	if len(payload) < 2 {
		return 0
	}
	return binary.BigEndian.Uint16(payload)
}

// AppendNotFound appends a server's answer to a SEARCH with DoReply for a channel that the
// server does not have.
func AppendNotFound(dst []byte, cid uint32) []byte {
	return AppendHeader(dst, Header{Command: CmdNotFound, Type: uint16(DoReply), Count: Minor, P1: cid, P2: cid})
}
