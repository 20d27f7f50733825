package search

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"
)

// Reach reports whether searches go to a host, so that answers may come from its address.
func (d *Destinations) Reach(host netip.Addr) bool {
	return slices.ContainsFunc(d.Addresses(), func(to netip.AddrPort) bool { return reaches(to.Addr(), host, d.subnets) })
}

var limitedBroadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// reaches reports whether a datagram to an address reaches a host. subnets has the subnets of
// this host's interfaces. A datagram to a multicast address may go farther than to these, but
// the servers that support multicast repeat the sequence number.
func reaches(to, host netip.Addr, subnets []netip.Prefix) bool {
	within := func(p netip.Prefix) bool { return p.Contains(host) }
	switch {
	case to == host:
		return true
	case to.IsLoopback() || to.IsUnspecified():
		return host.IsLoopback()
	case to == limitedBroadcast || to.IsMulticast():
		return slices.ContainsFunc(subnets, within)
	}
	own := slices.IndexFunc(subnets, func(p netip.Prefix) bool { return broadcastOf(p) == to })
	if own >= 0 {
		return within(subnets[own])
	}
	return within(largestSubnet(to))
}

// largestSubnet returns the largest subnet whose broadcast address may be a. The address list
// does not say which of its addresses are broadcast addresses of other subnets, or how large
// these subnets are.
func largestSubnet(a netip.Addr) netip.Prefix {
	b := a.As4()
	host := bits.TrailingZeros32(^binary.BigEndian.Uint32(b[:])) // number of 1 bits at the end
	if host < 2 {                                                // a smaller subnet has no broadcast address
		host = 0
	}
	return netip.PrefixFrom(a, 32-host)
}
