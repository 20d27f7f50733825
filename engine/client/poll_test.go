package client

import (
	"testing"
	"time"
)

// TestPollsAreBounded checks that a circuit, and all circuits of a client together, request a limited number of values per
// second.
func TestPollsAreBounded(t *testing.T) {
	k, now := &Kernel{}, time.Unix(1000, 0)
	polls := func(c *Checks, now time.Time) (n int) {
		for c.MayPoll(now) {
			n++
		}
		return n
	}
	circuits := make([]Checks, 15)
	all := 0
	for i := range circuits {
		circuits[i].kernel = k
		n := polls(&circuits[i], now)
		if all += n; n > maxPollsOfCircuit {
			t.Errorf("circuit %d requests %d values in a second", i, n)
		}
	}
	if all != maxPolls {
		t.Errorf("all circuits request %d values in a second, not %d", all, maxPolls)
	}
	if n := polls(&circuits[14], now.Add(time.Second)); n != maxPollsOfCircuit {
		t.Errorf("a second later, a circuit requests %d values", n)
	}
}
