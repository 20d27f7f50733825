package search

import (
	"math/rand/v2"
	"net/netip"
	"time"
)

// Jitter returns d, give or take a quarter, so that many clients and channels
// that lost a server together do not come back together.
func Jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1)
}

// Delays before a server is connected to again, doubling.
const (
	MinPenalty = 100 * time.Millisecond
	MaxPenalty = 30 * time.Second
	// GoodLife is how long a circuit must last for its server to be forgiven.
	GoodLife = 30 * time.Second
)

// Penalties keep a client from servers that refuse or break circuits: an answer to
// a search that names one is ignored until its penalty is over.
type Penalties map[netip.AddrPort]penalty

type penalty struct {
	delay time.Duration
	until time.Time
}

// Active reports whether the server is to be left alone now.
func (p Penalties) Active(server netip.AddrPort, now time.Time) bool {
	return now.Before(p[server].until)
}

// Ended notes the end of a circuit that was up for life, 0 if it never was. It
// forgets servers whose penalty is long over, so that the map stays small.
func (p Penalties) Ended(server netip.AddrPort, life time.Duration, now time.Time) {
	for s, old := range p {
		if now.Sub(old.until) > MaxPenalty {
			delete(p, s)
		}
	}
	if life >= GoodLife {
		delete(p, server)
		return
	}
	delay := min(max(2*p[server].delay, MinPenalty), MaxPenalty)
	p[server] = penalty{delay: delay, until: now.Add(Jitter(delay))}
}
