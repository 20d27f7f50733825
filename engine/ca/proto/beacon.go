package proto

import (
	"cmp"
	"encoding/binary"
	"net/netip"
)

// Beacon is the message that a server broadcasts while it is up (RSRV_IS_UP).
type Beacon struct {
	// Server is the address of the server. It is unspecified if the server sent the beacon
	// itself. The port is 0 if it is the default port.
	Server netip.AddrPort
	// ID counts the server's beacons from 0. It has no meaning if Minor is less than
	// MinorBeaconID.
	ID uint32
	// Minor is the server's minor protocol revision. AppendBeacon replaces 0 by the constant
	// Minor.
	Minor uint16
}

// AppendBeacon appends a beacon.
func AppendBeacon(dst []byte, b Beacon) []byte {
	return AppendHeader(dst, Header{
		Command: CmdBeacon, Type: cmp.Or(b.Minor, Minor), Count: uint32(b.Server.Port()), P1: b.ID,
		P2: bits(b.Server.Addr()),
	})
}

// ParseBeacon returns the content of a beacon. from is the sender's address.
func ParseBeacon(h *Header, from netip.Addr) Beacon {
	addr := from.Unmap()
	if h.P2 != 0 && h.P2 != senderIP {
		addr = addrOf(h.P2)
	}
	return Beacon{Server: netip.AddrPortFrom(addr, uint16(h.Count)), ID: h.P1, Minor: h.Type}
}

// AppendRepeaterRegister appends a request to a repeater to forward beacons to the sender of
// the request. addr is the address of the sender. Repeaters ignore it.
func AppendRepeaterRegister(dst []byte, addr netip.Addr) []byte {
	return AppendHeader(dst, Header{Command: CmdRepRegister, P2: bits(addr)})
}

// AppendRepeaterConfirm appends a repeater's answer to a registration from addr.
func AppendRepeaterConfirm(dst []byte, addr netip.Addr) []byte {
	return AppendHeader(dst, Header{Command: CmdRepConfirm, P2: bits(addr)})
}

// bits returns an IPv4 address in the form that messages use, and 0 for any other address.
func bits(addr netip.Addr) uint32 {
	if addr = addr.Unmap(); !addr.Is4() {
		return 0
	}
	four := addr.As4()
	return binary.BigEndian.Uint32(four[:])
}

// addrOf is the reverse of bits.
func addrOf(ip uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, ip)))
}
