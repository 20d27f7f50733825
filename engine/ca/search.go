package ca

import (
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/search"
)

// newQueue returns a queue for datagrams that begin with VERSION.
func newQueue() search.Queue { return search.NewQueue(proto.HeaderSize, proto.SearchSize) }

// nextSearch returns when a round is due, if any name is searched for.
func (c *Client) nextSearch() (due time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue.Due()
}

// searchRound searches for what is due, and reports whether anything was.
func (c *Client) searchRound() bool {
	c.mu.Lock()
	batches, names := c.queue.Round(time.Now())
	servers := c.nameServers.Ready()
	c.mu.Unlock()
	if names == 0 {
		return false
	}
	c.metrics.searches.Add(float64(names))
	c.udp.search(batches)
	for _, s := range servers {
		s.search(batches)
	}
	return true
}

// appendBatch appends the SEARCH messages for a batch. Names and numbers of entries
// never change, so that no lock is needed.
func appendBatch(dst []byte, b search.Batch) []byte {
	for _, e := range b {
		dst = proto.AppendSearch(dst, e.Name, e.ID, proto.DontReply)
	}
	return dst
}

// heard has all names searched for soon: a server came up.
func (c *Client) heard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue.News(time.Now())
	c.searches.Wake()
}

// hastenSearch has all names searched for now: there is somebody new to ask.
func (c *Client) hastenSearch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hastenLocked()
}

func (c *Client) hastenLocked() {
	c.queue.Hasten(time.Now())
	c.searches.Wake()
}
