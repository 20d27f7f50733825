package client

import (
	"time"
)

// Bounds of the reads that a sink requests with Channel.Poll.
const (
	// maxPollsOfCircuit is the maximum number per second for each circuit.
	maxPollsOfCircuit = 200
	// maxPolls is the maximum number per second of all circuits of a client.
	maxPolls = 2000
)

// poller is a Circuit that can read the value of a channel at once.
type poller interface {
	// Poll requests the value of a channel. It returns false if it does not, because the channel is not open
	// on the circuit, its value has been requested already, or there are too many requests.
	Poll(ch *Channel) bool
}

// Poll requests the value of a connected channel at once. Sink.Checked gets it. Poll returns false if there is no
// request, because the channel is not connected, a request is already under way, or the server gets too many. It does
// not wait for the answer.
func (ch *Channel) Poll() bool {
	ch.kernel.mu.Lock()
	p, ok := ch.circuit.(poller)
	ch.kernel.mu.Unlock()
	return ok && p.Poll(ch)
}

// MayPoll reports whether the circuit may request another value now, and counts the request if so.
func (c *Checks) MayPoll(now time.Time) bool {
	if !c.polls.available(now, maxPollsOfCircuit) || !c.kernel.polls.available(now, maxPolls) {
		return false
	}
	c.polls.use()
	c.kernel.polls.use()
	return true
}

// Polled records that the value of a slot was requested.
func (c *Checks) Polled(slot uint32, now time.Time) { c.asked = append(c.asked, askedSlot{slot, now}) }
