package channelfinder

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// Addresses says which addresses a client must not connect to. Authors of ArchiveGroups choose the
// URLs, and the operator reaches addresses that the authors may not reach themselves.
type Addresses struct {
	// Loopback allows the addresses of the machine itself, such as 127.0.0.1.
	Loopback bool
	// Refused are further addresses, such as those of the API server.
	Refused []netip.Addr
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

// check returns an error if a client must not connect to an address.
func (a *Addresses) check(ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	if err := a.checkOne(ip); err != nil {
		return err
	}
	if v4, found := embedded(ip); found && !ip.IsLoopback() {
		return a.checkOne(v4)
	}
	return nil
}

// checkOne checks an address without what it contains.
func (a *Addresses) checkOne(ip netip.Addr) error {
	kind := ""
	switch {
	case ip.IsUnspecified(), ip.IsLoopback() && !a.Loopback:
		kind = "an address of the machine of the operator itself"
	case ip.IsLinkLocalUnicast():
		kind = "a link-local address"
	case ip.IsMulticast(), ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		kind = "a multicast or broadcast address"
	case slices.Contains(metadataServers, ip):
		kind = "the address of a metadata service"
	case slices.Contains(a.Refused, ip):
		kind = "the address of the API server"
	default:
		return nil
	}
	return &refusedError{kind}
}

// refusedError says that a client must not connect to an address. It does not contain the address,
// because the author of the group may not be allowed to see what a name server answers.
type refusedError struct{ kind string }

func (e *refusedError) Error() string {
	return "the host is " + e.kind + ", which the operator does not query; give the URL of a ChannelFinder service at another address"
}

// NewRestrictedClient returns a client that connects only to allowed addresses. It checks the address
// of each connection after the name of the host is resolved, so that a name that changes its address
// between two look-ups cannot evade the check. Behind an HTTP proxy the proxy resolves names: the
// client then checks the address of the proxy, and hosts that are written as addresses.
func NewRestrictedClient(allowed Addresses) *Client {
	c := NewClient()
	dialer := &net.Dialer{
		Timeout: c.timeout,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("parsing the address of the host: %w", err)
			}
			return allowed.check(at.Addr())
		},
	}
	c.http.Transport.(*http.Transport).DialContext = dialer.DialContext
	c.allowed = &allowed
	return c
}

// checkHost checks a host of a URL that is written as an address. A proxy may read more forms of an address
// than Go does, such as 127.1, 0x7f.1 and 2130706433: they are refused.
func (c *Client) checkHost(host string) error {
	if c.allowed == nil {
		return nil
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return c.allowed.check(ip)
	}
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if strings.HasPrefix(last, "0x") || strings.Trim(last, "0123456789") == "" {
		return &refusedError{"an address in an unusual form"}
	}
	return nil
}
