package ca

import (
	"math/rand/v2"
	"net/netip"
	"time"
)

// jitter returns d, give or take a quarter, so that many clients and channels
// that lost a server together do not come back together.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1)
}

// Delays before a server is connected to again, doubling.
const (
	minPenalty = 100 * time.Millisecond
	maxPenalty = 30 * time.Second
	// goodLife is how long a circuit must last for its server to be forgiven.
	goodLife = 30 * time.Second
)

// penalties keeps the client from servers that refuse or break circuits: an
// answer to a search that names one is ignored until its penalty is over.
type penalties map[netip.AddrPort]penalty

type penalty struct {
	delay time.Duration
	until time.Time
}

// active reports whether the server is to be left alone now.
func (p penalties) active(server netip.AddrPort, now time.Time) bool {
	return now.Before(p[server].until)
}

// ended notes the end of a circuit that was up for life, 0 if it never was. It
// forgets servers whose penalty is long over, so that the map stays small.
func (p penalties) ended(server netip.AddrPort, life time.Duration, now time.Time) {
	for s, old := range p {
		if now.Sub(old.until) > maxPenalty {
			delete(p, s)
		}
	}
	if life >= goodLife {
		delete(p, server)
		return
	}
	delay := min(max(2*p[server].delay, minPenalty), maxPenalty)
	p[server] = penalty{delay: delay, until: now.Add(jitter(delay))}
}
