package late_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/late"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/engine/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		opened := make(chan struct{})
		st := late.Open(func(context.Context) (store.Store, error) {
			defer close(opened)
			return pebble.Open(t.TempDir(), pebble.Options{})
		}, time.Second, func(err error) { t.Error(err) })
		<-opened
		for st.Ready() != nil {
			time.Sleep(time.Millisecond)
		}
		t.Cleanup(func() {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		})
		return st
	}, nil)
}

var errAway = errors.New("nobody there")

func TestCallsFailUntilTheStoreIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int32
		var failures atomic.Int32
		st := late.Open(func(context.Context) (store.Store, error) {
			tries.Add(1)
			return nil, errAway
		}, time.Second, func(error) { failures.Add(1) })
		synctest.Wait()
		if err := st.PutClaim(t.Context(), store.Claim{}); !errors.Is(err, late.ErrNotOpen) || !errors.Is(err, errAway) {
			t.Errorf("writing gives %v", err)
		}
		for _, err := range st.Channels(t.Context()) {
			if !errors.Is(err, late.ErrNotOpen) {
				t.Errorf("reading gives %v", err)
			}
		}
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		if tries.Load() != 11 || failures.Load() != 11 {
			t.Errorf("there were %d tries and %d failures in 10 s", tries.Load(), failures.Load())
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
}
