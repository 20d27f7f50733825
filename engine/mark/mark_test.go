package mark

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// shelf is a store that keeps entries, unless it is down.
type shelf struct {
	mu    sync.Mutex
	down  bool
	marks map[string]store.PVMark
	meta  []store.PVMetadata
}

var errDown = errors.New("the store is unreachable")

func (s *shelf) set(down bool) {
	s.mu.Lock()
	s.down = down
	s.mu.Unlock()
}

func (s *shelf) PutMarks(_ context.Context, marks ...store.PVMark) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errDown
	}
	for _, m := range marks {
		s.marks[fmt.Sprint(m.PV, m.Time, m.Kind, m.Writer)] = m
	}
	return nil
}

func (s *shelf) PutMetadata(_ context.Context, m store.PVMetadata) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errDown
	}
	s.meta = append(s.meta, m)
	return nil
}

func (s *shelf) MetadataAt(_ context.Context, _ string, at int64) (m store.PVMetadata, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return m, false, errDown
	}
	for _, e := range s.meta {
		if e.Time <= at {
			m, found = e, true
		}
	}
	return m, found, nil
}

// inLog runs a test of a log in fake time. stop ends the log as on shutdown: the log has a
// minute to write the queue.
func inLog(t *testing.T, f func(l *Log, s *shelf, stop func())) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{marks: map[string]store.PVMark{}}
		l := NewLog(s, store.WriterID{7}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		hard, kill := context.WithCancel(t.Context())
		defer kill()
		done := make(chan struct{})
		go func() { l.Run(ctx, hard); close(done) }()
		stop := sync.OnceFunc(func() {
			cancel()
			timer := time.AfterFunc(time.Minute, kill)
			defer timer.Stop()
			<-done
		})
		defer stop()
		f(l, s, stop)
	})
}

func TestMarksAreStored(t *testing.T) {
	inLog(t, func(l *Log, s *shelf, stop func()) {
		for i := range 2000 {
			l.Add("SR:A", sample.Mark{Time: int64(i), Kind: sample.Connected})
		}
		stop()
		if len(s.marks) != 2000 {
			t.Fatalf("%d of 2000 marks stored at the stop", len(s.marks))
		}
		if m := s.marks[fmt.Sprint("SR:A", 5, sample.Connected, store.WriterID{7})]; m.PV != "SR:A" {
			t.Fatalf("mark 5 is %+v", m)
		}
	})
}

func TestMarksWaitForTheStore(t *testing.T) {
	inLog(t, func(l *Log, s *shelf, _ func()) {
		s.set(true)
		for i := range 100 {
			l.Add("SR:A", sample.Mark{Time: int64(i)})
			testclock.Advance(time.Second)
		}
		s.set(false)
		testclock.Advance(10 * time.Second)
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.marks) != 100 {
			t.Fatalf("%d of 100 marks stored after the store came back", len(s.marks))
		}
	})
}

func TestMetadataIsStoredWhenItChanges(t *testing.T) {
	inLog(t, func(l *Log, s *shelf, stop func()) {
		m := sample.Metadata{Units: "mA", AlarmHigh: math.NaN(), Host: "ioc:5064"}
		for i, units := range []string{"mA", "mA", "A", "A", "mA"} {
			m.Units, m.Host = units, fmt.Sprintf("ioc:%d", i)
			l.Metadata("SR:A", int64(i), &m)
			testclock.Advance(time.Second)
		}
		stop()
		var got []string
		for _, e := range s.meta {
			got = append(got, fmt.Sprint(e.Time, e.Units))
		}
		if fmt.Sprint(got) != "[0mA 2A 4mA]" {
			t.Fatalf("history %v, want only the changes", got)
		}
	})
}

// TestQueuedChangesOfAPVAreCompared checks that changes of one PV in the same batch are
// compared with each other, in order.
func TestQueuedChangesOfAPVAreCompared(t *testing.T) {
	inLog(t, func(l *Log, s *shelf, stop func()) {
		for i, desc := range []string{"pump \xb5", "pump \xb5", "valve", "valve", "pump \xb5", "valve", "pump \xb5"} {
			l.Metadata("SR:A", int64(i), &sample.Metadata{Properties: []sample.Property{{Name: "DESC", Value: desc}}})
		}
		stop()
		var got []string
		for _, e := range s.meta {
			got = append(got, fmt.Sprint(e.Time, " ", e.Properties[0].Value))
		}
		if want := "[0 pump \uFFFD 2 valve 4 pump \uFFFD 5 valve 6 pump \uFFFD]"; fmt.Sprint(got) != want {
			t.Fatalf("history %v, want %v", got, want)
		}
	})
}

// TestLossesOfAPVWaitAsOneMark checks that an engine that drops samples of 2,000 PVs for a minute
// loses none of the marks, and that losses far from each other stay apart.
func TestLossesOfAPVWaitAsOneMark(t *testing.T) {
	inLog(t, func(l *Log, s *shelf, stop func()) {
		const pvs, second = 2_000, int64(time.Second)
		s.set(true)
		testclock.Advance(time.Second)
		lose := func(from, to int64) {
			for at := from; at < to; at += second {
				for pv := range pvs {
					l.Add(fmt.Sprint("PV", pv), sample.Mark{Time: at, End: at + second - 1, Kind: sample.Lost, Reason: sample.Overflow, Count: 3})
				}
			}
		}
		lose(0, 60*second)
		lose(600*second, 610*second)
		s.set(false)
		stop()
		if n := l.dropped.Load(); n != 0 || len(s.marks) < 2*pvs || len(s.marks) > 3*pvs {
			t.Fatalf("%d marks are dropped, %d are stored", n, len(s.marks))
		}
		count := map[string]uint64{}
		for _, m := range s.marks {
			count[m.PV] += m.Count
			if m.Time < 600*second && m.End > 60*second {
				t.Fatalf("a mark covers a time without losses: %+v", m)
			}
		}
		for pv, n := range count {
			if n != 3*70 {
				t.Fatalf("the marks of %s count %d lost samples", pv, n)
			}
		}
	})
}

// TestDroppedMarksAreMarked checks that a PV of which marks were dropped gets a mark for their
// time once the store is back.
func TestDroppedMarksAreMarked(t *testing.T) {
	inLog(t, func(l *Log, s *shelf, stop func()) {
		s.set(true)
		for i := range queueLen + batchLen {
			l.Add("OTHER", sample.Mark{Time: int64(i), Kind: sample.Connected})
		}
		for i := range int64(batchLen + 5) {
			l.Add("A", sample.Mark{Time: 100 + i, Kind: sample.Disconnected})
			l.Add("B", sample.Mark{Time: i * 1e12, End: i*1e12 + 7, Kind: sample.Lost, Reason: sample.Overflow, Count: 1})
		}
		s.set(false)
		testclock.Advance(time.Minute)
		stop()
		for _, pv := range []string{"A", "B"} {
			found := false
			for _, m := range s.marks {
				found = found || m.PV == pv && m.Kind == sample.Lost && m.Reason == sample.Overflow && m.Text != "" && m.End > m.Time
			}
			if !found {
				t.Errorf("no mark says that marks of %s were dropped", pv)
			}
		}
	})
}

func TestAFullQueueDropsAndCounts(t *testing.T) {
	l := NewLog(&shelf{}, store.WriterID{}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	for range queueLen + 3 {
		l.Add("SR:A", sample.Mark{})
	}
	if n := l.dropped.Load(); n != 3 {
		t.Fatalf("%d dropped entries counted, want 3", n)
	}
}
