package access

import (
	"net"
	"net/netip"
)

// Network gives groups to the clients in a network. They need not send anything.
type Network struct {
	Prefix netip.Prefix
	Groups []string
}

func parseNetworks(n node) ([]Network, error) {
	elements, err := n.elements()
	if err != nil {
		return nil, err
	}
	if len(elements) == 0 {
		return nil, n.errorf("it is empty")
	}
	var all []Network
	for _, e := range elements {
		fields, err := e.fields("cidr", "groups")
		if err != nil {
			return nil, err
		}
		var network Network
		var cidr string
		if err := setText(fields, "cidr", &cidr); err != nil {
			return nil, err
		}
		if network.Prefix, err = netip.ParsePrefix(cidr); err != nil || network.Prefix != network.Prefix.Masked() {
			return nil, e.errorf("cidr %q is not a network; write it like 10.1.0.0/16, with zeros after the prefix", cidr)
		}
		if err := setTexts(fields, "groups", &network.Groups); err != nil {
			return nil, err
		}
		all = append(all, network)
	}
	return all, nil
}

// byNetwork returns the identity of a client by the address of its connection. Of several networks
// the first one decides. Headers of proxies are not looked at, because every client can send them.
func byNetwork(all []Network, remote string) (Identity, bool) {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return Identity{}, false
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return Identity{}, false
	}
	addr = addr.Unmap().WithZone("")
	for i := range all {
		if all[i].Prefix.Contains(addr) {
			return Identity{User: all[i].Prefix.String(), Groups: all[i].Groups, Method: "networks"}, true
		}
	}
	return Identity{}, false
}
