package access

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// KnowsHost reports whether a request names this server. A page that a browser has loaded from another
// server can make its own name mean the address of this one, and then read as the user of the browser;
// its requests have that name. An address cannot be abused in this way.
func (a *Access) KnowsHost(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil || host == "" {
		return true
	}
	return a.hosts[host]
}

// AllowsOrigin reports whether web pages of an origin may read the archive from a browser.
func (a *Access) AllowsOrigin(origin string) bool { return a.origins[strings.ToLower(origin)] }
