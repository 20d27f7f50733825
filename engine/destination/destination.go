// Package destination decides to which addresses a client of this machine must not connect, because somebody else
// chose the address:
//
//	URL from an object ─▶ CheckHost ─▶ look-up ─▶ Dialer: Check ─▶ connection
//
// The process reaches addresses that the author of the object may not reach, such as the metadata service of a
// cloud. The dialer checks each address after the name of the host is resolved, so that a name that changes its
// address between two look-ups cannot evade the check. Behind an HTTP proxy the proxy resolves names: then the
// dialer checks the address of the proxy, and CheckHost checks hosts that are written as addresses.
package destination

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Rules say which addresses a client must not connect to.
type Rules struct {
	// Loopback allows the addresses of the machine itself, such as 127.0.0.1.
	Loopback bool
	// Refused are further addresses, such as those of the API server.
	Refused []netip.Addr
	// Process is the name of the process in messages, such as "the operator", and Advice is the end of each
	// message: what to do.
	Process, Advice string
}

// metadataServers are addresses of cloud providers' metadata services that are not link-local. These
// services give credentials to everybody who reaches them.
var metadataServers = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16")}

// Networks whose addresses contain an IPv4 address, to which a gateway may forward: RFC 6052, 8215, 2765 and 4291
// at the end of the address, and 6to4 (RFC 3056) behind the prefix.
var (
	endInIPv4 = []netip.Prefix{
		netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
		netip.MustParsePrefix("::ffff:0:0:0/96"), netip.MustParsePrefix("::/96"),
	}
	sixToFour = netip.MustParsePrefix("2002::/16")
)

// embedded returns the IPv4 address that an IPv6 address contains.
func embedded(ip netip.Addr) (v4 netip.Addr, found bool) {
	b := ip.As16()
	switch {
	case ip.Is4():
	case slices.ContainsFunc(endInIPv4, func(p netip.Prefix) bool { return p.Contains(ip) }):
		return netip.AddrFrom4([4]byte(b[12:])), true
	case sixToFour.Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

// Check returns a RefusedError if a client must not connect to an address.
func (r *Rules) Check(ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	if err := r.checkOne(ip); err != nil {
		return err
	}
	if v4, found := embedded(ip); found && !ip.IsLoopback() {
		return r.checkOne(v4)
	}
	return nil
}

// checkOne checks an address without what it contains.
func (r *Rules) checkOne(ip netip.Addr) error {
	kind := ""
	switch {
	case ip.IsUnspecified(), ip.IsLoopback() && !r.Loopback:
		kind = "an address of the machine of " + r.Process + " itself"
	case ip.IsLinkLocalUnicast():
		kind = "a link-local address"
	case ip.IsMulticast(), ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		kind = "a multicast or broadcast address"
	case slices.Contains(metadataServers, ip):
		kind = "the address of a metadata service"
	case slices.Contains(r.Refused, ip):
		kind = "the address of the API server"
	default:
		return nil
	}
	return r.refuse(kind)
}

func (r *Rules) refuse(kind string) error {
	return &RefusedError{fmt.Sprintf("the host is %s, which %s does not query; %s", kind, r.Process, r.Advice)}
}

// RefusedError says that a client must not connect to an address. It does not contain the address, because the
// author of the object may not be allowed to see what a name server answers.
type RefusedError struct{ text string }

// Error implements error.
func (e *RefusedError) Error() string { return e.text }

// CheckHost returns a RefusedError if the host of a URL is written as an address to which a client must not
// connect. A proxy may read more forms of an address than Go does, such as 127.1, 0x7f.1 and 2130706433: they are
// refused.
func (r *Rules) CheckHost(host string) error {
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return r.Check(ip)
	}
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if strings.HasPrefix(last, "0x") || strings.Trim(last, "0123456789") == "" {
		return r.refuse("an address in an unusual form")
	}
	return nil
}

// Dialer returns a dialer that connects only to allowed addresses.
func (r *Rules) Dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{
		Timeout: timeout,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("parsing the address of the host: %w", err)
			}
			return r.Check(at.Addr())
		},
	}
}
