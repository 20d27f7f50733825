package admission

import (
	"context"
	"slices"
	"time"
)

// overtaking is how long smaller reads overtake a large one. After that, places that become free are kept for
// the large one, for the time keeping: places that others hold longer must not stop all reads.
const (
	overtaking = 2500 * time.Millisecond
	keeping    = 5 * time.Second
)

// waiter is a read that waits for places:
//
//	up to overtaking: smaller reads behind it go first if there are places for them
//	for keeping:      no read behind it is admitted, so that it is not starved
//	later:            smaller reads go first again
//
// A read that waits only for the share of its own client delays no reads of other clients.
type waiter struct {
	client  *client
	n       int64 // places
	since   time.Time
	granted bool
	ready   chan struct{} // closed when granted
}

// acquire acquires n places, of the share of a client and of all.
func (g *Gate) acquire(ctx context.Context, c *client, n int64) error {
	w := &waiter{client: c, n: n, since: time.Now(), ready: make(chan struct{})}
	if !g.enqueue(w) {
		return g.refuse()
	}
	select {
	case <-w.ready:
		return nil
	default:
	}
	kept := time.AfterFunc(overtaking+keeping, g.grant)
	defer kept.Stop()
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-w.ready:
		return nil
	case <-waiting.Done():
	}
	switch {
	case !g.giveUp(w): // the places were granted meanwhile
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return g.refuse()
}

// enqueue makes a read wait, unless there are places for it now. It reports false if too many reads wait.
func (g *Gate) enqueue(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, w)
	g.grantLocked()
	if w.granted || len(g.waiting) <= int(g.size)*waitingPerPlace {
		return true
	}
	g.removeLocked(w)
	return false
}

// giveUp ends the wait of a read. It reports false if the read has its places.
func (g *Gate) giveUp(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.granted {
		return false
	}
	g.removeLocked(w)
	g.grantLocked() // to those for which it was in the way
	return true
}

// release gives n places of a client back.
func (g *Gate) release(c *client, n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free += n
	c.held -= n
	g.grantLocked()
}

func (g *Gate) removeLocked(w *waiter) {
	i := slices.Index(g.waiting, w)
	g.waiting = slices.Delete(g.waiting, i, i+1)
}

// grant admits the reads for which there are places now.
func (g *Gate) grant() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.grantLocked()
}

// grantLocked admits the reads for which there are places.
func (g *Gate) grantLocked() {
	now := time.Now()
	free := g.free // for the next waiter
	var full []*client
	rest := g.waiting[:0]
	for _, w := range g.waiting {
		waits := now.Sub(w.since)
		late := waits >= overtaking && waits < overtaking+keeping
		switch {
		case slices.Contains(full, w.client):
		case w.client.held+w.n > w.client.share:
			if late {
				full = append(full, w.client)
			}
		case w.n > free:
			if late {
				free = 0
			}
		default:
			free -= w.n
			g.free -= w.n
			w.client.held += w.n
			w.granted = true
			close(w.ready)
			continue
		}
		rest = append(rest, w)
	}
	clear(g.waiting[len(rest):])
	g.waiting = rest
}
