package elasticity

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	. "github.com/onsi/gomega"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/soak"
)

const (
	// ledgerPeriod is the time between two entries of the ledger for a PV.
	ledgerPeriod = 5 * time.Second
	// longestRead is the number of entries that a read covers at most.
	longestRead = 12
	// readPause leaves time for other work of the machine.
	readPause = 500 * time.Millisecond
)

// record adds the present values of an IOC's PVs to the ledger until ctx ends.
func (t *trial) record(ctx context.Context, sampler *epics.Sampler) {
	tick := time.NewTicker(ledgerPeriod)
	defer tick.Stop()
	for {
		values, err := sampler.Read()
		Expect(err).NotTo(HaveOccurred(), "reading from the IOC")
		seen := time.Now().UnixNano()
		for pv, v := range values {
			step := archive.Event{Value: v.Value}.Number()
			Expect(t.ledger.Add(pv, soak.Sent{Step: step, Stamp: v.Time, Seen: seen})).To(Succeed())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// read reads random windows of random PVs until ctx ends, and compares them with the ledger.
func (t *trial) read(ctx context.Context, rng *rand.Rand) {
	tick := time.NewTicker(readPause)
	defer tick.Stop()
	for {
		p := t.parts[0]
		if rng.IntN(2) == 0 {
			p = t.parts[rng.IntN(len(t.parts))]
		}
		t.readOnce(p, p.pvs[rng.IntN(len(p.pvs))], rng)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// readOnce reads a window that ends at an entry of the ledger whose step must be durable: in half
// of the reads the last such entry, otherwise any. Then it reads the window again. The second
// answer must have every sample of the first.
func (t *trial) readOnce(p *part, pv string, rng *rand.Rand) {
	sent := t.ledger.Sent(pv, time.Now().Add(-durable))
	if len(sent) < 2 {
		return
	}
	j := len(sent) - 1
	if rng.IntN(2) == 0 {
		j = 1 + rng.IntN(j)
	}
	a, b := sent[max(0, j-1-rng.IntN(longestRead))], sent[j]
	first, err := t.answer(p, pv, a, b)
	if err != nil {
		return
	}
	got := soak.Check(a, b, first)
	if p.clockSteps {
		got.Foreign, got.Unordered = 0, false // the window is wider, and its times go back
	}
	if p.incomplete || p.group == damaged {
		got.Missing = 0 // the final account judges it
	}
	if got != (soak.Answer{}) {
		t.reportWrong("%s, steps %d to %d, from %s to %s: %+v", pv, a.Step, b.Step, stamp(a.Stamp), stamp(b.Stamp), got)
	}
	second, err := t.answer(p, pv, a, b)
	if lacks := soak.Lacks(second, first); err == nil && lacks > 0 && p.group != damaged {
		t.reportWrong("%s, steps %d to %d, from %s to %s: a second answer lacks %d samples of the first",
			pv, a.Step, b.Step, stamp(a.Stamp), stamp(b.Stamp), lacks)
	}
}

// answer reads the samples of a PV from the step of a to the step of b.
func (t *trial) answer(p *part, pv string, a, b soak.Sent) ([]archive.Event, error) {
	from, to := time.Unix(0, a.Stamp), time.Unix(0, b.Stamp+1)
	if p.clockSteps {
		from, to = t.begun.Add(-clockRange), time.Now().Add(2*clockRange)
	}
	client := t.reader.Load()
	begun := time.Now()
	events, err := client.Raw(pv, from, to)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen.reads++
	t.seen.slowest = max(t.seen.slowest, time.Since(begun))
	if err != nil {
		t.seen.failed++
		if text := fmt.Sprintf("read at %s: %v", clock(begun), err); len(t.seen.failures) < 20 {
			t.seen.failures = append(t.seen.failures, text)
		}
	}
	return events, err
}

func (t *trial) reportWrong(format string, args ...any) {
	text := "wrong answer: " + fmt.Sprintf(format, args...)
	t.log("%s", text)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen.wrong = append(t.seen.wrong, text)
}

func stamp(ns int64) string { return clock(time.Unix(0, ns)) }

// everything returns a range with all samples of a PV that the ledger covers.
func (p *part) everything(sent []soak.Sent) (from, to time.Time) {
	byStamp := func(a, b soak.Sent) int { return cmp.Compare(a.Stamp, b.Stamp) }
	from, to = time.Unix(0, slices.MinFunc(sent, byStamp).Stamp), time.Unix(0, slices.MaxFunc(sent, byStamp).Stamp+1)
	if p.clockSteps { // the clock may have changed between two entries
		from, to = from.Add(-2*clockRange), to.Add(2*clockRange)
	}
	return from, to
}
