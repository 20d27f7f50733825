package search

import (
	"math/rand/v2"
	"net/netip"
	"time"
)

// Jitter returns d plus or minus up to a quarter of d. Thus clients and channels that lost a
// server together do not come back together.
func Jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1)
}

// A client waits before it connects to a server again. The delay doubles with each
// attempt.
const (
	MinPenalty = 100 * time.Millisecond
	MaxPenalty = 30 * time.Second
	// GoodLife is the time for which a circuit must last to end the penalties of its server.
	GoodLife = 30 * time.Second
)

// Penalties keep a client away from servers that refuse or break circuits. The client ignores
// answers that name such a server until the penalty of the server is over.
type Penalties map[netip.AddrPort]penalty

type penalty struct {
	delay time.Duration
	until time.Time
}

// Active reports whether a server has a penalty now.
func (p Penalties) Active(server netip.AddrPort, now time.Time) bool {
	return now.Before(p[server].until)
}

// Ended records that a circuit has ended. life is the time for which the circuit was
// connected, or 0 if it never was. Ended removes servers whose penalty ended long ago, so that
// the map stays small.
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
