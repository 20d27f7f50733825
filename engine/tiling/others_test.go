package tiling

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/store"
)

// deadStore is a store whose directory answers each request with an error, after a long time.
type deadStore struct {
	Store
	tries atomic.Int64
}

func (d *deadStore) Channel(context.Context, string) (c store.Channel, found bool, err error) {
	d.tries.Add(1)
	time.Sleep(10 * time.Second)
	return c, false, errors.New("the request timed out")
}

// TestReviseDoesNotWaitForADeadStore revises many PVs while the store answers no request for them. That
// must not take hours, and all PVs must be revised later.
func TestReviseDoesNotWaitForADeadStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pvs = 2000
		st := &deadStore{}
		s := New(Config{
			Store: st, Clock: clock.New(clock.Config{}), Every: 15 * time.Minute, Log: slog.New(slog.DiscardHandler),
			Cutoff: func() int64 { return 0 },
		})
		for i := range pvs {
			pv := fmt.Sprint(i)
			s.series[pv] = &series{pv: pv, entry: new(layout.Entry), levels: []*level{newLevel(store.LevelOf(time.Minute, store.Forever))}}
		}
		begun := time.Now()
		if err := s.Revise(t.Context(), &OtherSealers{Gone: true}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > time.Minute || st.tries.Load() > 2*maxFailed {
			t.Errorf("%d tries took %v", st.tries.Load(), took)
		}
		if n := len(s.Due(Pace{Quiet: time.Hour, Age: time.Hour, Most: pvs + 1})); n != pvs {
			t.Errorf("%d of %d PVs are due at once", n, pvs)
		}
	})
}
