package soak

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"varve.dev/varve/test/archive"
)

// Sent is an entry of the ledger: a step that the IOC has sent.
type Sent struct {
	// Step is the number of the step.
	Step int
	// Stamp is the time of the step by the IOC's clock, and Seen is the time after which the
	// ledger's client had received it. Both are in ns since 1970.
	Stamp, Seen int64
}

// Ledger records steps of PVs that the IOC has sent. Its methods are safe for concurrent use.
type Ledger struct {
	mu   sync.Mutex
	sent map[string][]Sent
}

// Add adds an entry. It returns an error if the PV does not count upwards.
func (l *Ledger) Add(pv string, s Sent) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sent == nil {
		l.sent = map[string][]Sent{}
	}
	all := l.sent[pv]
	if len(all) > 0 && s.Step <= all[len(all)-1].Step {
		return fmt.Errorf("%s counts %d after %d", pv, s.Step, all[len(all)-1].Step)
	}
	l.sent[pv] = append(all, s)
	return nil
}

// Sent returns the entries of a PV that the ledger's client had seen at a time, in the order of
// steps. The caller must not change them.
func (l *Ledger) Sent(pv string, at time.Time) []Sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.sent[pv]
	n, _ := slices.BinarySearchFunc(all, at.UnixNano(), func(s Sent, t int64) int {
		if s.Seen <= t {
			return -1
		}
		return 1
	})
	return all[:n:n]
}

// Answer is the result of the comparison of an answer with the ledger.
type Answer struct {
	// Missing is the number of steps that the answer lacks, and Duplicated is the number of
	// steps that it has again.
	Missing, Duplicated int
	// Foreign is the number of samples that are not between the two steps.
	Foreign int
	// Unordered is true if the samples are not in the order of time.
	Unordered bool
}

// Check compares an answer with the steps from a to b, each of which must be in the answer once.
func Check(a, b Sent, events []archive.Event) (got Answer) {
	seen := make([]bool, b.Step-a.Step+1)
	for i, e := range events {
		got.Unordered = got.Unordered || i > 0 && e.Time < events[i-1].Time
		switch n := e.Number() - a.Step; {
		case n < 0 || n >= len(seen):
			got.Foreign++
		case seen[n]:
			got.Duplicated++
		default:
			seen[n] = true
		}
	}
	for _, is := range seen {
		if !is {
			got.Missing++
		}
	}
	return got
}

// Lacks returns the number of samples of an earlier answer that a later answer does not have.
func Lacks(later, earlier []archive.Event) (n int) {
	has := make(map[archive.Event]bool, len(later))
	for _, e := range later {
		has[e] = true
	}
	for _, e := range earlier {
		if !has[e] {
			n++
		}
	}
	return n
}
