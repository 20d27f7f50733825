package ca

import (
	"container/heap"
	"time"

	"varve.dev/varve/engine/ca/proto"
)

const (
	// Delays between the searches for a name: the first, and the longest while
	// few names are searched for.
	minSearchDelay = 30 * time.Millisecond
	maxSearchDelay = 5 * time.Second
	// steadySearches is the most names a second that are searched for when all
	// have reached the longest delay: with many names it grows, so that there is
	// always room for new ones.
	steadySearches = 2000
	// retrySearches is the most names a second that are searched for again before:
	// with many names, the search for one is repeated when all had their turn.
	retrySearches = 7000

	// A round packs what is due. Rounds are at least roundInterval apart, so that
	// channels subscribed together are searched for together, and take at most
	// roundDatagrams: some 14,000 names a second. While answers come, a round takes
	// as many more as the last one had answers for, up to answeredDatagrams.
	roundInterval     = 20 * time.Millisecond
	roundDatagrams    = 8
	answeredDatagrams = 24
	maxDatagram       = 1400 // fits an Ethernet frame, and a VPN's
)

// searchState is what the queue knows of a channel in it.
type searchState struct {
	due   time.Time
	delay time.Duration // until the search after the next
	index int           // in the queue
}

// searchQueue is a heap of the channels to search for, by due time.
type searchQueue []*channel

func (q searchQueue) Len() int           { return len(q) }
func (q searchQueue) Less(i, j int) bool { return q[i].search.due.Before(q[j].search.due) }
func (q searchQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].search.index, q[j].search.index = i, j
}

// Push is for package heap.
func (q *searchQueue) Push(x any) {
	ch := x.(*channel)
	ch.search.index = len(*q)
	*q = append(*q, ch)
}

// Pop is for package heap.
func (q *searchQueue) Pop() any {
	last := len(*q) - 1
	ch := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return ch
}

// hasten makes all channels due now, as after news of a server that came up, and
// again somewhat sooner than they would be. Repeated, it doubles the searches.
func (q searchQueue) hasten(now time.Time) {
	delay := q.longest() / 4
	for _, ch := range q {
		ch.search.due, ch.search.delay = now, min(ch.search.delay, delay)
	}
}

// longest returns the longest delay between two searches for a name.
func (q searchQueue) longest() time.Duration {
	return max(maxSearchDelay, time.Duration(len(q))*time.Second/steadySearches)
}

// round appends the SEARCH messages of what is due to datagrams, each of which
// begins with the bytes that begin returns, and sets when each name is due again.
// There are at most most datagrams.
func (q searchQueue) round(now time.Time, most int, begin func() []byte) (datagrams [][]byte, names int) {
	shortest, longest := time.Duration(len(q))*time.Second/retrySearches, q.longest()
	for len(q) > 0 && !q[0].search.due.After(now) {
		ch := q[0]
		last := len(datagrams) - 1
		if last < 0 || len(datagrams[last])+proto.SearchSize(len(ch.name)) > maxDatagram {
			if len(datagrams) == most {
				break
			}
			datagrams = append(datagrams, begin())
			last++
		}
		datagrams[last] = proto.AppendSearch(datagrams[last], ch.name, ch.cid, proto.DontReply)
		names++
		delay := max(ch.search.delay, shortest)
		ch.search.due = now.Add(jitter(delay))
		ch.search.delay = min(2*delay, longest)
		heap.Fix(&q, 0)
	}
	return datagrams, names
}

// runSearch sends rounds of searches until the client is closed.
func (c *Client) runSearch() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last time.Time
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.searchWake: // something may be due earlier than the timer knows
		case <-timer.C:
			if c.searchRound() {
				last = time.Now()
			}
		}
		if due, ok := c.nextSearch(); ok {
			timer.Reset(time.Until(latest(due, last.Add(roundInterval))))
		} else {
			timer.Stop()
		}
	}
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// nextSearch returns when the next name is due, if there is one.
func (c *Client) nextSearch() (due time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		return time.Time{}, false
	}
	due = c.queue[0].search.due
	if n := c.news.due; !n.IsZero() && n.Before(due) {
		due = n
	}
	return due, true
}

// searchRound searches for what is due, and reports whether anything was.
func (c *Client) searchRound() bool {
	now := time.Now()
	c.mu.Lock()
	c.actOnNews(now)
	most := min(roundDatagrams+c.answered/maxDatagram, answeredDatagrams)
	c.answered = 0
	datagrams, names := c.queue.round(now, most, c.udp.begin)
	servers := c.nameServers.ready()
	c.mu.Unlock()
	if names == 0 {
		return false
	}
	c.metrics.searches.Add(float64(names))
	c.udp.send(datagrams)
	for _, s := range servers {
		s.search(datagrams)
	}
	return true
}

// wakeSearch tells runSearch that the queue changed.
func (c *Client) wakeSearch() {
	select {
	case c.searchWake <- struct{}{}:
	default:
	}
}

// hastenSearch makes all searches due now.
func (c *Client) hastenSearch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hastenLocked()
}

func (c *Client) hastenLocked() {
	c.queue.hasten(time.Now())
	c.wakeSearch()
}
