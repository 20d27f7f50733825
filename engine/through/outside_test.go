package through

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/sample"
)

// TestReadersShareADescription lets many readers ask for one PV.
func TestReadersShareADescription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		release := make(chan struct{})
		a := newScripted(t, &scripted{describe: func(context.Context, string) (*sample.Metadata, error) {
			asked.Add(1)
			<-release
			return &sample.Metadata{Type: sample.Float64, Count: 1}, nil
		}})
		defer a.Close()
		leaving, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 20 {
			ctx, want := t.Context(), error(nil)
			if i == 0 { // the one that began the request may leave
				ctx, want = leaving, context.Canceled
			}
			wg.Go(func() {
				o, err := a.outside(ctx, "A:B")
				if !errors.Is(err, want) || want == nil && o.Type != sample.Float64 {
					t.Errorf("reader %d: %+v, %v", i, o, err)
				}
			})
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		close(release)
		wg.Wait()
		if n := asked.Load(); n != 1 {
			t.Errorf("%d requests for 20 readers, want 1", n)
		}
	})
}

// TestDescriptionsEndWithTheirReaders lets all readers of a PV leave.
func TestDescriptionsEndWithTheirReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := make(chan error, 1)
		a := newScripted(t, &scripted{describe: func(ctx context.Context, _ string) (*sample.Metadata, error) {
			err := silent(ctx)
			ends <- err
			return nil, err
		}})
		defer a.Close()
		ctx, leave := context.WithCancel(t.Context())
		begun := time.Now()
		time.AfterFunc(time.Second, leave)
		if _, err := a.outside(ctx, "A:B"); !errors.Is(err, context.Canceled) {
			t.Errorf("the reader that left: %v", err)
		}
		if err := <-ends; !errors.Is(err, context.Canceled) || time.Since(begun) != time.Second {
			t.Errorf("the request ended after %v with %v", time.Since(begun), err)
		}
		if w := a.Problems(); len(w) > 0 {
			t.Errorf("warnings %q because readers left", w)
		}
	})
}

// TestDescriptionsAreBounded asks a silent archive for many PVs, in requests and in chains.
func TestDescriptionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var active, most atomic.Int64
		a := newScripted(t, &scripted{describe: func(ctx context.Context, _ string) (*sample.Metadata, error) {
			most.Store(max(most.Load(), active.Add(1)))
			defer active.Add(-1)
			return nil, silent(ctx)
		}})
		defer a.Close()
		begun := time.Now()
		var wg sync.WaitGroup
		for i := range 3 * describeAtOnce {
			ctx := t.Context()
			if i%2 == 0 {
				ctx = ofChain(ctx)
			}
			wg.Go(func() {
				if _, err := a.outside(ctx, fmt.Sprintf("A:%d", i)); err == nil {
					t.Errorf("PV %d is described", i)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if n, took := most.Load(), time.Since(begun); n != describeAtOnce || took > describeTime+DefaultWait {
			t.Errorf("%d PVs at a time, for %v; want %d, at most %v", n, took, describeAtOnce, describeTime+DefaultWait)
		}
	})
}
