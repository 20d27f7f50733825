package serve

import (
	"context"
	"net"
	"net/http"
	"net/netip"

	"varve.dev/varve/engine/serve/access"
	"varve.dev/varve/engine/serve/admission"
)

// client returns the name of the client whose share a request uses, before the request is identified: the user
// whom a trusted proxy names, or the address of the connection. It is empty, and there is no share, for a process that serves no readers.
func (c *Config) client(r *http.Request) string {
	if c.Reader == nil {
		return "" // other pods, each of which asks for many readers
	}
	if c.Access != nil {
		if name := c.Access.Forwarded(r); name != "" {
			return name
		}
	}
	return hostOf(r.RemoteAddr)
}

// hostOf returns the host of an address with a port. The addresses of an IPv6 network of 64 bits count
// as one host, because a host can have all of them.
func hostOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return ""
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if addr = addr.Unmap().WithZone(""); addr.Is4() {
		return addr.String()
	}
	return netip.PrefixFrom(addr, 64).Masked().String()
}

// place is the place of a request among those that are answered at a time.
type place struct {
	places *admission.Budget
	client string
}

type placeKey struct{}

func withPlace(ctx context.Context, p *place) context.Context {
	return context.WithValue(admission.WithClient(ctx, p.client), placeKey{}, p)
}

// asIdentity makes a request count for the identity that has sent it, whatever its address is. It
// refuses the request if the identity has too many of them.
func asIdentity(ctx context.Context, q *access.Request) (context.Context, error) {
	name := q.Client()
	p, _ := ctx.Value(placeKey{}).(*place)
	if p == nil || name == "" {
		return ctx, nil
	}
	if !p.places.Move(p.client, name, 1) {
		return ctx, &access.Refusal{Code: http.StatusTooManyRequests, Text: tooManyRequests}
	}
	p.client = name
	return admission.WithClient(ctx, name), nil
}
