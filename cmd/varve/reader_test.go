package main

import (
	"context"
	"testing"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/store"
)

// timed is a store whose servers have clocks.
type timed struct {
	store.Store
	now int64 // by the clocks of the servers, in ns since 1970
}

// Clocks implements clock.Store.
func (timed) Clocks(context.Context, func() time.Duration) ([]clock.Reading, error) { return nil, nil }

// Now implements clock.Store.
func (t timed) Now() int64 { return t.now }

// TestReadersCompareTimesWithTheStore checks that a reader uses the time of the store, although the clock of its
// machine is an hour behind.
func TestReadersCompareTimesWithTheStore(t *testing.T) {
	c := clock.New(clock.Config{Read: func() (int64, time.Duration) { return time.Now().Add(-time.Hour).UnixNano(), 0 }})
	st := timed{now: time.Now().UnixNano()}
	c.Use(st)
	if r := newReader(st, nil, 1, nil, c, nil); r.Now() != st.now {
		t.Errorf("the reader's time is %v, want that of the store, %v", time.Unix(0, r.Now()), time.Unix(0, st.now))
	}
}
