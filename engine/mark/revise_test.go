package mark

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// TestACorrectionOfAMark corrects marks that were added at noon, by a clock that showed another time.
func TestACorrectionOfAMark(t *testing.T) {
	noon := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC).UnixNano()
	const minute, year = int64(time.Minute), 365 * 24 * int64(time.Hour)
	for name, c := range map[string]struct {
		by        int64
		time, end int64 // since noon
		wantTime  int64
		wantEnd   int64
	}{
		"a point in time moves":                            {by: 3 * minute, time: -4 * minute, wantTime: -minute},
		"a point in time moves by years":                   {by: 56 * year, time: -56*year - minute, wantTime: -minute},
		"a loss covers both times, with a clock behind":    {by: 3 * minute, time: -5 * minute, end: -4 * minute, wantTime: -5 * minute, wantEnd: -minute},
		"a loss covers both times, with a clock ahead":     {by: -3 * minute, time: minute, end: 3 * minute, wantTime: -2 * minute, wantEnd: 3 * minute},
		"a loss by a clock that stood at 1970 moves":       {by: 56 * year, time: -56*year - 2*minute, end: -56*year - minute, wantTime: -2 * minute, wantEnd: -minute},
		"a loss by a clock that is a year ahead moves":     {by: -year, time: year - 2*minute, end: year - minute, wantTime: -2 * minute, wantEnd: -minute},
		"from the time of an IOC to that of the clock":     {by: 56 * year, time: -56*year - minute, end: -2 * minute, wantTime: -2 * minute, wantEnd: -minute},
		"a long loss, hours ahead, covers both times":      {by: -120 * minute, time: 50 * minute, end: 80 * minute, wantTime: -70 * minute, wantEnd: 80 * minute},
		"a long loss of an IOC, hours behind, covers both": {by: 120 * minute, time: -80 * minute, end: -60 * minute, wantTime: -80 * minute, wantEnd: 60 * minute},
		"an old loss of an IOC, hours behind, covers both": {by: 300 * minute, time: -300 * minute, end: -299 * minute, wantTime: -300 * minute, wantEnd: minute},
		"a loss in the time of an IOC stays":               {by: 56 * year, time: -2 * minute, end: -minute, wantTime: -2 * minute, wantEnd: -minute},
		"a loss in the time of an IOC stays, years ahead":  {by: -year, time: -2 * minute, end: -minute, wantTime: -2 * minute, wantEnd: -minute},
	} {
		t.Run(name, func(t *testing.T) {
			m := sample.Mark{Time: noon + c.time, Kind: sample.Disconnected}
			want := sample.Mark{Time: noon + c.wantTime, Kind: sample.Disconnected}
			if c.end != 0 {
				m.End, want.End = noon+c.end, noon+c.wantEnd
				m.Kind, want.Kind = sample.Lost, sample.Lost
			}
			if got := moved(m, c.by, noon); got != want {
				t.Errorf("the mark is %+v, want %+v", got, want)
			}
		})
	}
}

// TestDroppedMarksAreCorrected checks that the mark for dropped marks has the right time, although a clock that
// stood at another year gave their times.
func TestDroppedMarksAreCorrected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const behind = 20 * 365 * 24 * time.Hour
		began := time.Now()
		c := clock.New(clock.Config{Read: func() (int64, time.Duration) {
			return time.Now().Add(-behind).UnixNano(), time.Since(began)
		}})
		asked := &servers{}
		c.Use(asked)
		s := &markStore{marks: map[string]store.PVMark{}}
		l := NewLog(s, store.WriterID{7}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
		l.UseClock(c)
		for range queueLen {
			l.Add("OTHER", sample.Mark{Time: c.Now().Begin, Kind: sample.Connected})
		}
		l.Add("A", sample.Mark{Time: c.Now().Begin, Kind: sample.Disconnected})
		asked.answer = true
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { l.Run(ctx, t.Context()) })
		testclock.Advance(time.Minute)
		cancel()
		running.Wait()
		for _, m := range s.marks {
			if m.PV == "A" {
				if m.Time != began.UnixNano() || m.End != m.Time {
					t.Errorf("the mark is of %v, want %v", time.Unix(0, m.Time).UTC(), began.UTC())
				}
				return
			}
		}
		t.Error("there is no mark")
	})
}

// servers are three servers of a store whose clocks are right. They tell their time once answer is set.
type servers struct{ answer bool }

// Clocks implements clock.Store.
func (s *servers) Clocks(_ context.Context, boot func() time.Duration) (all []clock.Reading, err error) {
	if !s.answer {
		return nil, errDown
	}
	for i := range 3 {
		all = append(all, clock.Reading{Source: fmt.Sprint(i), Time: time.Now().UnixNano(), At: boot(), Within: time.Millisecond})
	}
	return all, nil
}

// Now implements clock.Store.
func (*servers) Now() int64 { return time.Now().UnixNano() }
