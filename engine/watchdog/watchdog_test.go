package watchdog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
)

// lab simulates an engine's channels and the stored samples.
type lab struct {
	statuses  []capture.Status
	gets      time.Duration    // every channel gets a sample per this time; 0: none
	stored    map[string]int64 // time of the last sample by PV
	down      bool             // the store is unreachable
	explained map[string]bool  // PVs whose IOC had a reason to send no update

	mu           sync.Mutex
	compared     int
	resubscribed []string
}

func (l *lab) all() iter.Seq[capture.Status] {
	return func(yield func(capture.Status) bool) {
		for _, st := range l.statuses {
			if l.gets > 0 {
				st.Received = uint64(time.Now().UnixNano() / int64(l.gets))
			}
			if !yield(st) {
				return
			}
		}
	}
}

func (l *lab) last(_ context.Context, pv string, at int64) (*sample.Run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compared++
	t, ok := l.stored[pv]
	switch {
	case l.down:
		return nil, errors.New("unreachable")
	case !ok || t > at:
		return nil, nil
	}
	r := &sample.Run{Type: sample.Float64}
	r.Append(&sample.Sample{Time: t})
	return r, nil
}

func (l *lab) resubscribe(pv string, stored *sample.Run, done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if stored.Times[0] != l.stored[pv] {
		panic("BUG: another sample")
	}
	if l.explained[pv] {
		return
	}
	done()
	l.resubscribed = append(l.resubscribed, pv)
}

// rounds runs a watchdog for some rounds of a minute.
func (l *lab) rounds(t *testing.T, n int) *Watchdog {
	t.Helper()
	w := New(Config{
		Statuses: l.all, Shared: func(pv string) bool { return !strings.HasPrefix(pv, "alone") }, Last: l.last, Resubscribe: l.resubscribe,
		Every: time.Minute, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*time.Minute+time.Second)
	defer cancel()
	w.Run(ctx)
	slices.Sort(l.resubscribed)
	return w
}

func value(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var out dto.Metric
	if err := c.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.GetCounter().GetValue()
}

func at(t int64) sample.Sample { return sample.Sample{Time: t} }

func TestStaleSubscriptionsAreResubscribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().UnixNano()
		old, late := now-int64(time.Hour), now-int64(time.Minute)
		l := &lab{stored: map[string]int64{"alone": late, "behind": late, "drifts": late, "close": old + int64(5*time.Second), "even": old, "gone": late, "none": late}}
		l.explained = map[string]bool{"drifts": true}
		l.statuses = []capture.Status{
			{PV: "alone", State: capture.Connected, HasLast: true, Last: at(old)},
			{PV: "behind", State: capture.Connected, HasLast: true, Last: at(old)},
			{PV: "close", State: capture.Connected, HasLast: true, Last: at(old)},
			{PV: "drifts", State: capture.Connected, HasLast: true, Last: at(old)},
			{PV: "even", State: capture.Connected, HasLast: true, Last: at(old)},
			{PV: "gone", State: capture.Disconnected, HasLast: true, Last: at(old)},
			{PV: "none", State: capture.Connected},
			{PV: "unstored", State: capture.Connected, HasLast: true, Last: at(old)},
		}
		if l.rounds(t, 1); l.compared > 0 {
			t.Error("a channel counts as silent in the first round")
		}
		w := l.rounds(t, 2)
		if want := []string{"behind", "none"}; !slices.Equal(l.resubscribed, want) {
			t.Errorf("resubscribed: %v, want %v", l.resubscribed, want)
		}
		if n := value(t, w.resubscribed); n != 2 {
			t.Errorf("%v resubscriptions counted, want 2", n)
		}
	})
}

func TestChannelsThatGetSamplesAreNotCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{gets: 30 * time.Second, stored: map[string]int64{"PV": time.Now().UnixNano()}}
		l.statuses = []capture.Status{{PV: "PV", State: capture.Connected}}
		if l.rounds(t, 5); l.compared > 0 || len(l.resubscribed) > 0 {
			t.Errorf("%d channels compared, resubscribed: %v", l.compared, l.resubscribed)
		}
	})
}

// TestChannelsTakeTurns checks that channels take turns if there are more than a round
// compares.
func TestChannelsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2*maxPerRound + maxPerRound/2
		l := &lab{stored: map[string]int64{}}
		for i := range n {
			pv := fmt.Sprintf("PV%06d", i)
			l.statuses = append(l.statuses, capture.Status{PV: pv, State: capture.Connected})
			l.stored[pv] = time.Now().UnixNano()
		}
		l.rounds(t, 4) // none is compared in the first
		if l.resubscribed = slices.Compact(l.resubscribed); len(l.resubscribed) != n || l.compared != 3*maxPerRound {
			t.Errorf("%d of %d channels were resubscribed, after %d comparisons", len(l.resubscribed), n, l.compared)
		}
	})
}

func TestAnUnreachableStoreResubscribesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{down: true, statuses: []capture.Status{{PV: "PV", State: capture.Connected}}}
		w := l.rounds(t, 3)
		if n := value(t, w.failures); n != 2 || len(l.resubscribed) > 0 {
			t.Errorf("%v failures counted, resubscribed: %v", n, l.resubscribed)
		}
	})
}
