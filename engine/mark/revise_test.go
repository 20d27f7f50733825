package mark

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
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

// TestACorrectionOfAMark corrects marks of an engine that started some minutes or hours ago. It is noon, and the clock
// showed another time.
func TestACorrectionOfAMark(t *testing.T) {
	noon := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC).UnixNano()
	const minute, hour, year = int64(time.Minute), int64(time.Hour), 365 * 24 * int64(time.Hour)
	for name, c := range map[string]struct {
		by        int64
		lived     int64 // before noon; 10 minutes if it is 0
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
		"a long loss of an IOC, hours behind, covers both": {by: 120 * minute, time: -80 * minute, end: -60 * minute, wantTime: -80 * minute},
		"an old loss of an IOC, hours behind, covers both": {by: 300 * minute, time: -300 * minute, end: -299 * minute, wantTime: -300 * minute},
		"a loss in the time of an IOC stays":               {by: 56 * year, time: -2 * minute, end: -minute, wantTime: -2 * minute, wantEnd: -minute},
		"a loss in the time of an IOC stays, years ahead":  {by: -year, time: -2 * minute, end: -minute, wantTime: -2 * minute, wantEnd: -minute},
		"a loss that grew for hours moves as a whole": {
			by: 72 * hour, lived: 40 * hour, time: -112 * hour, end: -73 * hour, wantTime: -40 * hour, wantEnd: -hour,
		},
		"a loss that grew for hours stays as a whole": {
			by: 72 * hour, lived: 40 * hour, time: -39 * hour, end: -hour, wantTime: -39 * hour, wantEnd: -hour,
		},
		"a loss that grew for longer than the clock was wrong covers both": {
			by: 30 * hour, lived: 40 * hour, time: -69 * hour, end: -31 * hour, wantTime: -39 * hour, wantEnd: -hour,
		},
		"a loss of samples from before the start stays, too": {
			by: 30 * hour, lived: hour, time: -21 * hour, end: -20 * hour, wantTime: -21 * hour,
		},
		"a loss by a clock that is days ahead moves": {
			by: -72 * hour, lived: 40 * hour, time: 33 * hour, end: 71 * hour, wantTime: -39 * hour, wantEnd: -hour,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := sample.Mark{Time: noon + c.time, Kind: sample.Disconnected}
			want := sample.Mark{Time: noon + c.wantTime, Kind: sample.Disconnected}
			if c.end != 0 {
				m.End, want.End = noon+c.end, noon+c.wantEnd
				m.Kind, want.Kind = sample.Lost, sample.Lost
			}
			lived := span{noon - cmp.Or(c.lived, 10*minute), noon}
			if got := moved(m, span{c.by, c.by}, lived); got != want {
				t.Errorf("the mark is %+v, want %+v", got, want)
			}
		})
	}
}

// TestALossThatGrowsIsCorrected checks that the mark of a loss covers the loss and ends by now, although it grew for
// hours while nothing was known of the clock, which was wrong by more than a day, or was set in between.
func TestALossThatGrowsIsCorrected(t *testing.T) {
	const hours = 13
	for name, c := range map[string]struct {
		behind, later time.Duration // the clock is behind, at first and after half of the time
		widest        time.Duration
	}{
		"25 hours behind": {25 * time.Hour, 25 * time.Hour, 40 * time.Hour},
		"60 hours behind": {60 * time.Hour, 60 * time.Hour, hours*time.Hour + 10*time.Minute},
		"3 days ahead":    {-72 * time.Hour, -72 * time.Hour, hours*time.Hour + 10*time.Minute},
		"years behind":    {20 * 365 * 24 * time.Hour, 20 * 365 * 24 * time.Hour, hours*time.Hour + 10*time.Minute},
		"set back":        {time.Hour, 3 * time.Hour, 20 * time.Hour},
		"set forward":     {3 * time.Hour, time.Hour, 20 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, behind := time.Now(), c.behind
				k := clock.New(clock.Config{Read: func() (int64, time.Duration) {
					return time.Now().Add(-behind).UnixNano(), time.Since(began)
				}})
				asked := &servers{}
				k.Use(asked)
				s := &markStore{marks: map[string]store.PVMark{}}
				l := NewLog(s, store.WriterID{7}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
				l.UseClock(k)
				time.Sleep(time.Minute)
				first := time.Now()
				for range hours * 3600 / 5 {
					if time.Since(first) >= hours*time.Hour/2 {
						behind = c.later
					}
					l.Add("A", sample.Mark{Time: k.Now().Begin, End: k.Now().End, Kind: sample.Lost, Reason: sample.Malformed, Count: 1})
					time.Sleep(5 * time.Second)
				}
				last := time.Now().Add(-5 * time.Second)
				asked.answer = true
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { l.Run(ctx, t.Context()) })
				testclock.Advance(time.Minute)
				cancel()
				running.Wait()
				covered := first.UnixNano()
				var marks []store.PVMark
				for _, m := range s.marks {
					marks = append(marks, m)
				}
				slices.SortFunc(marks, func(a, b store.PVMark) int { return cmp.Compare(a.Time, b.Time) })
				for _, m := range marks {
					if m.Time <= covered+int64(10*time.Second) {
						covered = max(covered, m.End)
					}
					if m.End > time.Now().UnixNano() || m.End-m.Time > int64(c.widest) {
						t.Errorf("a mark is from %v to %v; it is %v", time.Unix(0, m.Time).UTC(), time.Unix(0, m.End).UTC(), time.Now().UTC())
					}
				}
				if len(marks) == 0 || marks[0].Time > first.UnixNano() || covered < last.UnixNano() {
					t.Errorf("the marks %+v cover the loss up to %v only, want from %v to %v", marks, time.Unix(0, covered).UTC(), first.UTC(), last.UTC())
				}
			})
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

// TestDroppedMarksOfAClockThatWasSet checks that the mark for dropped marks is short, although the clock stood at 1970 when
// the first of them was made, and was set to the present, or to another year, before the last one. A loss has the
// times of an IOC, which were right all the time.
func TestDroppedMarksOfAClockThatWasSet(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for name, behind := range map[string]time.Duration{"set to the present": 0, "set to another year": 2 * year, "set a little": 30*year - time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, by := time.Now(), 30*year
				c := clock.New(clock.Config{Read: func() (int64, time.Duration) {
					return time.Now().Add(-by).UnixNano(), time.Since(began)
				}})
				asked := &servers{}
				c.Use(asked)
				s := &markStore{marks: map[string]store.PVMark{}}
				l := NewLog(s, store.WriterID{7}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
				l.UseClock(c)
				time.Sleep(time.Minute)
				for range queueLen {
					l.Add("OTHER", sample.Mark{Time: c.Now().Begin, Kind: sample.Connected})
				}
				first := time.Now()
				add := func() {
					l.Add("A", sample.Mark{Time: c.Now().Begin, Kind: sample.Disconnected})
					l.Add("A", sample.Mark{Time: time.Now().Add(-10 * time.Second).UnixNano(), End: time.Now().UnixNano(), Kind: sample.Lost, Reason: sample.Overflow})
					time.Sleep(time.Minute)
				}
				for range 3 {
					add()
				}
				by = behind
				for range 3 {
					add()
				}
				last := time.Now().Add(-time.Minute)
				asked.answer = true
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { l.Run(ctx, t.Context()) })
				testclock.Advance(time.Minute)
				cancel()
				running.Wait()
				found := false
				for _, m := range s.marks {
					if m.PV != "A" {
						continue
					}
					found = true
					if m.Time > first.UnixNano() || m.End < last.UnixNano() || m.Time < began.Add(-2*time.Minute).UnixNano() || m.End > time.Now().UnixNano() {
						t.Errorf("the mark is from %v to %v, want from %v to %v", time.Unix(0, m.Time).UTC(), time.Unix(0, m.End).UTC(), first.UTC(), last.UTC())
					}
				}
				if !found {
					t.Error("there is no mark")
				}
			})
		})
	}
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
