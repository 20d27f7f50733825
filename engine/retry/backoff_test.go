package retry

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// within fails unless a delay is in a range, both ends included.
func within(t *testing.T, what string, got, from, to time.Duration) {
	t.Helper()
	if got < from || got > to {
		t.Errorf("%s is %v, want %v to %v", what, got, from, to)
	}
}

func TestDelaysDoubleUpToTheLongest(t *testing.T) {
	for range 100 {
		b := Backoff{Min: 100 * time.Millisecond, Max: 500 * time.Millisecond}
		for _, want := range []time.Duration{100, 200, 400, 500, 500, 500} {
			want *= time.Millisecond
			within(t, "the delay", b.Next(), want/2, want*3/2)
		}
	}
}

func TestSpreadLimitsTheDeviation(t *testing.T) {
	shortest, longest := time.Hour, time.Duration(0)
	for range 10_000 {
		b := Backoff{Min: time.Second, Max: time.Minute, Spread: 0.25}
		d := b.Next()
		within(t, "the delay", d, 750*time.Millisecond, 1250*time.Millisecond)
		shortest, longest = min(shortest, d), max(longest, d)
	}
	within(t, "the shortest of many delays", shortest, 750*time.Millisecond, 800*time.Millisecond)
	within(t, "the longest of many delays", longest, 1200*time.Millisecond, 1250*time.Millisecond)
}

func TestResetStartsWithTheShortestDelayAgain(t *testing.T) {
	b := Backoff{Min: time.Second, Max: time.Hour}
	for range 10 {
		b.Next()
	}
	b.Reset()
	within(t, "the delay after Reset", b.Next(), 500*time.Millisecond, 1500*time.Millisecond)
}

func TestACopyBacksOffByItself(t *testing.T) {
	start := Backoff{Min: time.Second, Max: time.Hour}
	for range 3 {
		b := start
		within(t, "the first delay of a copy", b.Next(), 500*time.Millisecond, 1500*time.Millisecond)
		b.Next()
	}
}

func TestWaitTakesTheNextDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Backoff{Min: time.Second, Max: 4 * time.Second}
		for _, want := range []time.Duration{1, 2, 4, 4} {
			want *= time.Second
			start := time.Now()
			if !b.Wait(t.Context()) {
				t.Fatal("Wait reports that its context ended")
			}
			within(t, "the wait", time.Since(start), want/2, want*3/2)
		}
	})
}

func TestWaitReturnsWhenTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		b := Backoff{Min: time.Hour, Max: time.Hour}
		if b.Wait(ctx) {
			t.Error("Wait reports a whole delay")
		}
		if d := time.Since(start); d != time.Second {
			t.Errorf("Wait returned after %v, want 1s", d)
		}
	})
}
