package proto

import "net/netip"

// These are the default ports.
const (
	ServerPort    = 5075 // TCP
	BroadcastPort = 5076 // UDP
)

// GUID distinguishes servers that share an address. A server has a new GUID after a restart.
type GUID [12]byte

// These are the flags of a Search.
const (
	// SearchReply requests an answer also from servers that do not have any of the channels.
	SearchReply = 0x01
	// SearchUnicast means that the datagram was sent to one host. The server that receives it
	// forwards it to the other servers on its host.
	SearchUnicast = 0x80
)

// Search requests from a server which of the given channels it has. If the search arrives by
// UDP, the server sends the answer to ReplyTo, or to the sender of the search if ReplyTo has
// no address.
type Search struct {
	Sequence uint32
	Flags    uint8
	ReplyTo  netip.AddrPort
	// Protocols has the protocols that the client supports, usually "tcp".
	Protocols []string
	Channels  []SearchChannel
}

// SearchChannel is a channel in a search, with the client's number for it.
type SearchChannel struct {
	CID  uint32
	Name string
}

// AppendSearchHead appends a SEARCH without channels. The caller then adds channels with
// AppendSearchChannel and calls FinishSearch, which sets their number.
func AppendSearchHead(dst []byte, sequence uint32, flags uint8, replyTo netip.AddrPort, f Flags) []byte {
	o := f.order()
	dst = Begin(dst, CmdSearch, f)
	dst = o.AppendUint32(dst, sequence)
	dst = append(dst, flags, 0, 0, 0)
	addr := replyTo.Addr()
	if !addr.IsValid() {
		addr = netip.IPv6Unspecified() // as in requests of PVXS, but not in its answers
	}
	dst = appendAddr(dst, addr)
	dst = o.AppendUint16(dst, replyTo.Port())
	dst = AppendSize(dst, 1, o)
	dst = AppendString(dst, "tcp", o)
	return o.AppendUint16(dst, 0)
}

// AppendSearchChannel appends a channel to a SEARCH.
func AppendSearchChannel(dst []byte, cid uint32, name string, o Order) []byte {
	return AppendString(o.AppendUint32(dst, cid), name, o)
}

// searchHead is the number of bytes that AppendSearchHead appends.
const searchHead = HeaderSize + 4 + 4 + 16 + 2 + 1 + 4 + 2

// SearchChannelSize returns the size in a SEARCH of a channel with a name of n bytes.
func SearchChannelSize(n int) int {
	if n < sizeLong {
		return 5 + n
	}
	return 9 + n
}

// FinishSearch sets the number of channels and the size of the SEARCH that begins at offset
// start of dst.
func FinishSearch(dst []byte, start, channels int) []byte {
	at := start + searchHead - 2
	Flags(dst[start+2]).order().AppendUint16(dst[at:at], uint16(channels))
	return End(dst, start)
}

// ParseSearch parses a SEARCH. ReplyTo has no address if the message contains none.
func ParseSearch(r *Reader) (s Search, err error) {
	s.Sequence, s.Flags = r.Uint32(), r.Uint8()
	r.Bytes(3)
	addr := r.addr()
	s.ReplyTo = netip.AddrPortFrom(addr, r.Uint16())
	for n := r.count(1); n > 0; n-- {
		s.Protocols = append(s.Protocols, string(r.String()))
	}
	for n := r.Uint16(); n > 0 && r.err == nil; n-- {
		s.Channels = append(s.Channels, SearchChannel{CID: r.Uint32(), Name: string(r.String())})
	}
	return s, r.err
}

// SearchResponse is an answer to a SEARCH. It has the channels that the server has.
type SearchResponse struct {
	GUID     GUID
	Sequence uint32
	// Server is the address to connect to. Without an address, the client connects to the
	// sender of the answer.
	Server   netip.AddrPort
	Protocol string
	Found    bool
	CIDs     []uint32
}

// ParseSearchResponse parses a SEARCH_RESPONSE.
func ParseSearchResponse(r *Reader) (s SearchResponse, err error) {
	copy(s.GUID[:], r.Bytes(len(s.GUID)))
	s.Sequence = r.Uint32()
	addr := r.addr()
	s.Server = netip.AddrPortFrom(addr, r.Uint16())
	s.Protocol = string(r.String())
	s.Found = r.Uint8() != 0
	for n := r.Uint16(); n > 0 && r.err == nil; n-- {
		s.CIDs = append(s.CIDs, r.Uint32())
	}
	return s, r.err
}

// AppendSearchResponse appends a SEARCH_RESPONSE.
func AppendSearchResponse(dst []byte, s *SearchResponse, f Flags) []byte {
	o, start := f.order(), len(dst)
	dst = Begin(dst, CmdSearchResponse, f)
	dst = append(dst, s.GUID[:]...)
	dst = o.AppendUint32(dst, s.Sequence)
	dst = appendAddr(dst, s.Server.Addr())
	dst = o.AppendUint16(dst, s.Server.Port())
	dst = AppendString(dst, s.Protocol, o)
	dst = appendBool(dst, s.Found)
	dst = o.AppendUint16(dst, uint16(len(s.CIDs)))
	for _, cid := range s.CIDs {
		dst = o.AppendUint32(dst, cid)
	}
	return End(dst, start)
}

// Beacon is the message that a server sends to the broadcast addresses while it is up.
type Beacon struct {
	GUID     GUID
	Sequence uint8
	// Changes counts the times that the server's channels changed.
	Changes  uint16
	Server   netip.AddrPort // without an address, the sender of the beacon is the server
	Protocol string
}

// ParseBeacon parses a BEACON.
func ParseBeacon(r *Reader) (b Beacon, err error) {
	copy(b.GUID[:], r.Bytes(len(b.GUID)))
	r.Uint8() // flags, unused
	b.Sequence, b.Changes = r.Uint8(), r.Uint16()
	addr := r.addr()
	b.Server = netip.AddrPortFrom(addr, r.Uint16())
	b.Protocol = string(r.String())
	return b, r.err // the rest is the server's status, which is not needed
}

// AppendBeacon appends a BEACON.
func AppendBeacon(dst []byte, b *Beacon, f Flags) []byte {
	o, start := f.order(), len(dst)
	dst = Begin(dst, CmdBeacon, f)
	dst = append(dst, b.GUID[:]...)
	dst = append(dst, 0, b.Sequence)
	dst = o.AppendUint16(dst, b.Changes)
	dst = appendAddr(dst, b.Server.Addr())
	dst = o.AppendUint16(dst, b.Server.Port())
	dst = AppendString(dst, b.Protocol, o)
	dst = append(dst, byte(Null)) // no status
	return End(dst, start)
}

// addr reads an address of 16 bytes, in which IPv4 is mapped to IPv6. It returns the zero Addr
// for an unspecified address.
func (r *Reader) addr() netip.Addr {
	b := r.Bytes(16)
	if b == nil {
		return netip.Addr{}
	}
	a := netip.AddrFrom16([16]byte(b)).Unmap()
	if a.IsUnspecified() {
		return netip.Addr{}
	}
	return a
}

func appendAddr(dst []byte, a netip.Addr) []byte {
	if !a.IsValid() {
		a = netip.IPv4Unspecified()
	}
	b := a.As16()
	return append(dst, b[:]...)
}

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}
