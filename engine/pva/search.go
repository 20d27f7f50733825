package pva

import (
	"net/netip"
	"time"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/search"
)

const (
	maxDatagram = 1400 // fits an Ethernet frame, and a VPN's
	// roundDatagrams bounds a round: some 14,000 names a second.
	roundDatagrams = 8
	// searchHead is more than what a SEARCH has beside its channels.
	searchHead = 64
)

// batch is the names of one SEARCH.
type batch []*search.Entry

// nextSearch returns when a round is due, if any name is searched for.
func (c *Client) nextSearch() (due time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue.Due()
}

// searchRound searches for what is due, and reports whether anything was.
func (c *Client) searchRound() bool {
	var batches []batch
	size := 0
	c.mu.Lock()
	names := c.queue.Round(time.Now(), func(e *search.Entry) bool {
		need := proto.SearchChannelSize(len(e.Name))
		if len(batches) == 0 || size+need > maxDatagram {
			if len(batches) == roundDatagrams {
				return false
			}
			batches, size = append(batches, nil), searchHead
		}
		last := len(batches) - 1
		batches[last] = append(batches[last], e)
		size += need
		return true
	})
	servers := c.readyNameServers()
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

// append appends a SEARCH for the names of a batch, to be answered to replyTo. Names
// and numbers of entries never change, so that no lock is needed.
func (b batch) append(dst []byte, sequence uint32, replyTo netip.AddrPort, f proto.Flags) []byte {
	start := len(dst)
	dst = proto.AppendSearchHead(dst, sequence, 0, replyTo, f)
	for _, e := range b {
		dst = proto.AppendSearchChannel(dst, e.ID, e.Name, proto.Order(f&proto.FlagBig != 0))
	}
	return proto.FinishSearch(dst, start, len(b))
}

// news has all names searched for soon: a server came up, or can be asked now.
func (c *Client) news() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newsLocked()
}

func (c *Client) newsLocked() {
	c.queue.News(time.Now())
	c.searches.Wake()
}
