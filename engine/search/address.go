package search

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Resolve returns the IPv4 addresses of a host name.
type Resolve func(ctx context.Context, host string) ([]netip.Addr, error)

// SystemResolve uses the system's resolver.
func SystemResolve(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
}

// SplitAddress splits host[:port]. port is the default for an address without a port.
func SplitAddress(s string, port uint16) (string, uint16, error) {
	host, digits, found := strings.Cut(s, ":")
	if host == "" || strings.ContainsAny(host, ",@[]") {
		return "", 0, fmt.Errorf("the address %q has no host name or IPv4 address", s)
	}
	if !found {
		return host, port, nil
	}
	port, err := ParsePort(digits)
	if err != nil {
		return "", 0, fmt.Errorf("the address %q has a wrong port: %w", s, err)
	}
	return host, port, nil
}

// ParsePort reads a port number.
func ParsePort(s string) (uint16, error) {
	port, err := strconv.ParseUint(s, 10, 16)
	if err != nil || port == 0 {
		return 0, errors.New("it is not a number from 1 to 65535")
	}
	return uint16(port), nil
}

// Addresses returns the IPv4 addresses of host[:port]. Each call looks up a host name again.
// port is the default for an address without a port.
func (r Resolve) Addresses(ctx context.Context, address string, port uint16) ([]netip.AddrPort, error) {
	host, port, err := SplitAddress(address, port)
	if err != nil {
		return nil, err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.AddrPort{netip.AddrPortFrom(ip, port)}, nil
	}
	ips, err := r(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w", host, err)
	}
	var out []netip.AddrPort
	for _, ip := range ips {
		if ip = ip.Unmap(); ip.Is4() {
			out = append(out, netip.AddrPortFrom(ip, port))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("looking up %s: it has no IPv4 address", host)
	}
	return out, nil
}

// Subnets returns the IPv4 addresses of this host's interfaces, with their prefixes.
func Subnets() ([]netip.Prefix, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("listing interface addresses: %w", err)
	}
	var out []netip.Prefix
	for _, a := range addrs {
		prefix, err := netip.ParsePrefix(a.String())
		if err == nil && prefix.Addr().Is4() {
			out = append(out, prefix)
		}
	}
	return out, nil
}

// Broadcasts returns the broadcast addresses of subnets. For a loopback address, and for an
// address with a prefix of 31 or 32 bits, it returns the address itself.
func Broadcasts(subnets []netip.Prefix) []netip.Addr {
	out := make([]netip.Addr, len(subnets))
	for i, p := range subnets {
		out[i] = broadcastOf(p)
	}
	return out
}

func broadcastOf(p netip.Prefix) netip.Addr {
	if p.Addr().IsLoopback() || p.Bits() >= 31 {
		return p.Addr()
	}
	ip := p.Addr().As4()
	mask := net.CIDRMask(p.Bits(), 32)
	for i := range ip {
		ip[i] |= ^mask[i]
	}
	return netip.AddrFrom4(ip)
}
