package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff yields the delays between tries: each is twice the one before, from Min to
// at most Max, give or take Spread. A copy of a Backoff that was not used yet starts
// at Min. One goroutine at a time may use a Backoff.
type Backoff struct {
	// Min is the first delay, and Max is the longest, before either is spread.
	Min, Max time.Duration
	// Spread is the largest random deviation from a delay, as a fraction of the delay.
	// Zero means one half.
	Spread float64

	delay time.Duration // the latest delay before it was spread; 0 before the first
}

// Next returns the next delay.
func (b *Backoff) Next() time.Duration {
	b.delay = min(max(2*b.delay, b.Min), b.Max)
	spread := b.Spread
	if spread == 0 {
		spread = 0.5
	}
	most := time.Duration(float64(b.delay) * spread)
	return b.delay - most + rand.N(2*most+1)
}

// Wait waits for the next delay. It reports false if ctx ended first.
func (b *Backoff) Wait(ctx context.Context) bool {
	timer := time.NewTimer(b.Next())
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Reset makes Min the next delay again, after a try that succeeded.
func (b *Backoff) Reset() { b.delay = 0 }
