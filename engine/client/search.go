package client

import (
	"net/netip"
	"time"

	"varve.dev/varve/engine/search"
)

// newSocket returns the socket for searches by UDP.
func (k *Kernel) newSocket() (*search.Socket, error) {
	subnets, err := search.Subnets()
	if err != nil {
		return nil, err
	}
	var broadcasts []netip.Addr
	if k.config.AutoAddrList {
		broadcasts = search.Broadcasts(subnets)
	}
	to, err := search.NewDestinations(k.config.AddrList, k.protocol.SearchPort, k.config.Resolve, subnets, broadcasts...)
	if err != nil {
		return nil, err
	}
	to.Changed, to.Log, to.Errors = k.hasten, k.config.Log, k.metrics.LookUpErrors
	return search.NewSocket(to, k.config.Log, k.metrics.Datagrams, k.metrics.DatagramErrors)
}

// newNameServers returns the name servers of the configuration.
func (k *Kernel) newNameServers() (*search.NameServers, error) {
	return search.NewNameServers(k.config.NameServers, search.NameServerConfig{
		Mu: &k.mu, Port: k.config.ServerPort, Resolve: k.config.Resolve, Hasten: k.hastenLocked,
		Circuit: func(address netip.AddrPort) (search.NameCircuit, bool) {
			if k.ctx.Err() != nil {
				return nil, false
			}
			if existing := k.circuits[address]; existing != nil {
				return existing, true
			}
			return k.startLocked(address, nil), true
		},
		Log: k.config.Log, LookUpErrors: k.metrics.LookUpErrors,
	})
}

// nextSearch returns the time at which the next round is due. ok is false if the client
// searches for no name.
func (k *Kernel) nextSearch() (due time.Time, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.queue.Due()
}

// searchRound searches for the names that are due, and reports whether there were any.
func (k *Kernel) searchRound() bool {
	k.mu.Lock()
	batches, names := k.queue.Round(time.Now())
	servers := k.nameServers.ReadyLocked()
	k.mu.Unlock()
	if names == 0 {
		return false
	}
	k.metrics.Searches.Add(float64(names))
	k.protocol.SendSearches(batches)
	for _, s := range servers {
		s.SendSearches(batches)
	}
	return true
}

// BeaconAnomaly makes the client search for all names soon, because a beacon showed that a
// server has started.
func (k *Kernel) BeaconAnomaly() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue.NoteAnomaly(time.Now())
	k.loop.Wake()
}

// hasten makes all names due now, because there are new addresses to search.
func (k *Kernel) hasten() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hastenLocked()
}

func (k *Kernel) hastenLocked() {
	k.queue.Hasten(time.Now())
	k.loop.Wake()
}
