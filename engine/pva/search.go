package pva

import (
	"net/netip"
	"time"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/search"
)

// searchHead is more than what a SEARCH has beside its channels.
const searchHead = 64

func newQueue() search.Queue { return search.NewQueue(searchHead, proto.SearchChannelSize) }

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

// appendBatch appends a SEARCH for the names of a batch, to be answered to replyTo.
// Names and numbers of entries never change, so that no lock is needed.
func appendBatch(dst []byte, b search.Batch, sequence uint32, replyTo netip.AddrPort, f proto.Flags) []byte {
	start := len(dst)
	dst = proto.AppendSearchHead(dst, sequence, 0, replyTo, f)
	for _, e := range b {
		dst = proto.AppendSearchChannel(dst, e.ID, e.Name, proto.Order(f&proto.FlagBig != 0))
	}
	return proto.FinishSearch(dst, start, len(b))
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
