package controllers

import (
	"net/netip"
	"net/url"
	"os"
	"strings"

	"varve.dev/varve/groups/channelfinder"
)

// channelFinderAddresses returns the addresses that the operator does not query for an ArchiveGroup.
// apiServer is the URL or HOST:PORT of the API server. If it names the server instead of giving its
// address, only the address in the environment of pods is known.
func channelFinderAddresses(apiServer string, loopback bool) channelfinder.Addresses {
	a := channelfinder.Addresses{Loopback: loopback}
	if !strings.Contains(apiServer, "://") {
		apiServer = "https://" + apiServer
	}
	hosts := []string{os.Getenv("KUBERNETES_SERVICE_HOST")}
	if u, err := url.Parse(apiServer); err == nil {
		hosts = append(hosts, u.Hostname())
	}
	for _, host := range hosts {
		if ip, err := netip.ParseAddr(host); err == nil {
			a.Refused = append(a.Refused, ip.Unmap().WithZone(""))
		}
	}
	return a
}
