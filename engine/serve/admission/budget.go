package admission

import "sync"

// Budget is what requests share, such as memory in bytes. One client gets at most its share, so that it
// cannot keep the others from what they need.
type Budget struct {
	limit, share int64

	mu      sync.Mutex
	taken   int64
	clients map[string]int64 // what each client has taken, if that is more than nothing
}

// NewBudget returns a budget, and how much of it one client may take.
func NewBudget(limit, share int64) *Budget {
	return &Budget{limit: limit, share: share, clients: map[string]int64{}}
}

// Take takes something from the budget for a client, unless too little is left of the budget or of the
// client's share. The caller must give it back. A client without a name has no share of its own.
func (b *Budget) Take(client string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.taken+n > b.limit || client != "" && b.clients[client]+n > b.share {
		return false
	}
	b.addLocked(client, n)
	return true
}

// Give gives back what a client has taken.
func (b *Budget) Give(client string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addLocked(client, -n)
}

// Move makes what one client has taken count for another one, unless that one has too little left of its
// share.
func (b *Budget) Move(from, to string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if from != to && to != "" && b.clients[to]+n > b.share {
		return false
	}
	b.addLocked(from, -n)
	b.addLocked(to, n)
	return true
}

func (b *Budget) addLocked(client string, n int64) {
	b.taken += n
	if b.clients[client] += n; b.clients[client] == 0 {
		delete(b.clients, client)
	}
}
