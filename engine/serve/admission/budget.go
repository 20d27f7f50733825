package admission

import "sync"

// Budget bounds a resource that requests share, such as memory in bytes. One client gets at most its share, so
// that the others get theirs.
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

// Give returns n, which a client has taken, to the budget.
func (b *Budget) Give(client string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addLocked(client, -n)
}

// Move charges n, which the client from has taken, to the client to. It reports false, and changes nothing, if
// the share of to is too small.
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
