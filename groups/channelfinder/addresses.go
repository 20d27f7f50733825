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

// nat64 is a network whose addresses end in an IPv4 address, to which a gateway forwards.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// check returns an error if a client must not connect to an address.
func (a *Addresses) check(ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	if nat64.Contains(ip) {
		b := ip.As16()
		ip = netip.AddrFrom4([4]byte(b[12:]))
	}
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
// because the answer of a name server may be none of the author's business.
type refusedError struct{ kind string }

func (e *refusedError) Error() string {
	return "the host is " + e.kind + ", which the operator does not query; write the URL of a ChannelFinder service"
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

// checkHost checks a host of a URL that is written as an address.
func (c *Client) checkHost(host string) error {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if c.allowed == nil || err != nil {
		return nil
	}
	return c.allowed.check(ip)
}
