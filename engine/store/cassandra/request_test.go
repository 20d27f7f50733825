package cassandra

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"

	"varve.dev/varve/engine/store/cassandra/cql"
)

// TestBytesUnderWayAreBounded checks that writes wait until there is room for them, that
// failed writes release their share too, and that a write larger than the bound runs alone.
func TestBytesUnderWayAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bound = 10 << 10
		s := &Store{cfg: cql.Config{InFlightBytes: bound}, inFlight: semaphore.NewWeighted(bound), metrics: newMetrics()}
		var mu sync.Mutex
		inFlight, most := 0, 0
		add := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			inFlight += n
			most = max(most, inFlight)
		}
		refused := errors.New("refused")
		for i, size := range []int{1 << 10, 5 << 10, 50 << 10, 9 << 10, 200, 6 << 10, 3 << 10, 4 << 10} {
			go func() {
				err := s.bounded(t.Context(), "journal", size, func(context.Context) error {
					add(min(size, bound))
					time.Sleep(time.Second)
					add(-min(size, bound))
					if i%2 == 0 {
						return refused
					}
					return nil
				})
				if (err != nil) != (i%2 == 0) {
					t.Errorf("a write of %d bytes returns %v", size, err)
				}
			}()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if inFlight != 0 || most > bound || most < bound/2 {
			t.Errorf("%d bytes are in flight; the maximum was %d with a bound of %d", inFlight, most, bound)
		}
	})
}

func TestWaitingForRoomEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{cfg: cql.Config{InFlightBytes: 1}, inFlight: semaphore.NewWeighted(1), metrics: newMetrics()}
		ctx, cancel := context.WithCancel(t.Context())
		hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		for range 2 {
			go func() {
				if err := s.bounded(ctx, "journal", 1, hangs); !errors.Is(err, context.Canceled) {
					t.Errorf("an interrupted write returns %v", err)
				}
			}()
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
	})
}
