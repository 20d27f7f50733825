package access

import (
	"crypto/x509"
	"net/http"
	"slices"
	"strings"
)

// TrustedProxy believes the headers of a proxy that has a client certificate of clientCA with a name.
type TrustedProxy struct {
	// Certificate is a DNS name or a URI of the certificate, or its whole subject.
	Certificate string
	UserHeader  string
	// GroupHeader is empty if the proxy sends no groups. It has no default, because a proxy passes on headers
	// that it does not know: with a default, every client could choose its groups.
	GroupHeader string
}

func parseProxy(n node) (*TrustedProxy, error) {
	fields, err := n.fields("certificate", "userHeader", "groupsHeader")
	if err != nil {
		return nil, err
	}
	p := &TrustedProxy{UserHeader: "X-Forwarded-User"}
	for name, to := range map[string]*string{"certificate": &p.Certificate, "userHeader": &p.UserHeader, "groupsHeader": &p.GroupHeader} {
		if err := setText(fields, name, to); err != nil {
			return nil, err
		}
	}
	if p.Certificate == "" {
		return nil, n.errorf("the field certificate is missing: a DNS name or a URI in the certificate of the proxy, or its subject")
	}
	return p, nil
}

// identify returns the identity that a proxy tells. Its user is empty if the proxy does not name one
// user, so that the request is refused.
func (p *TrustedProxy) identify(r *http.Request) (Identity, bool) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || !p.owns(r.TLS.PeerCertificates[0]) {
		return Identity{}, false
	}
	id := Identity{Method: "trustedProxy"}
	if users := r.Header.Values(p.UserHeader); len(users) == 1 && len(users[0]) <= maxWords {
		id.User = users[0]
	}
	if p.GroupHeader == "" {
		return id, true
	}
	for _, list := range r.Header.Values(p.GroupHeader) {
		for _, group := range strings.Split(list, ",") {
			if group = strings.TrimSpace(group); group != "" && len(id.Groups) < maxGroups {
				id.Groups = append(id.Groups, group)
			}
		}
	}
	return id, true
}

// Forwarded returns the name that Request.Client will have if a trusted proxy names one user for the
// request, and no token counts. Otherwise it returns "".
func (a *Access) Forwarded(r *http.Request) string {
	for _, p := range a.proxies {
		if id, found := p.identify(r); found && id.User != "" {
			return id.client()
		}
	}
	return ""
}

func (p *TrustedProxy) owns(c *x509.Certificate) bool {
	for _, uri := range c.URIs {
		if uri.String() == p.Certificate {
			return true
		}
	}
	return slices.Contains(c.DNSNames, p.Certificate) || c.Subject.String() == p.Certificate
}
