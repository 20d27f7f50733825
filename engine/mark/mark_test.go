package mark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// markStore is a store that keeps entries, unless it is down.
type markStore struct {
	mu   sync.Mutex
	down bool
	// unreadable means that the directory cannot be read, and reads counts how often that was tried.
	unreadable bool
	reads      int
	listed     func() // called once, after the directory was read
	marks      map[string]store.PVMark
	meta       []store.PVMetadata
}

var errDown = errors.New("the store is unreachable")

func (s *markStore) set(down bool) {
	s.mu.Lock()
	s.down = down
	s.mu.Unlock()
}

func (s *markStore) PutMarks(_ context.Context, marks ...store.PVMark) error {
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

func (s *markStore) LatestMarks(_ context.Context, pv string, at int64) iter.Seq2[store.PVMark, error] {
	return func(yield func(store.PVMark, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.down {
			yield(store.PVMark{}, errDown)
			return
		}
		marks := slices.SortedFunc(maps.Values(s.marks), func(a, b store.PVMark) int { return cmp.Compare(b.Time, a.Time) })
		for _, m := range marks {
			if m.PV == pv && m.Time <= at && !yield(m, nil) {
				return
			}
		}
	}
}

// Channels yields A and C in shard 3, and B in shard 4.
func (s *markStore) Channels(context.Context) iter.Seq2[store.Channel, error] {
	return func(yield func(store.Channel, error) bool) {
		s.mu.Lock()
		down := s.down || s.unreadable
		s.reads++
		listed := s.listed
		s.listed = nil
		s.mu.Unlock()
		if listed != nil {
			defer listed()
		}
		if down {
			yield(store.Channel{}, errDown)
			return
		}
		_ = yield(store.Channel{PV: "A", Shards: []int{3}}, nil) && yield(store.Channel{PV: "B", Shards: []int{4}}, nil) &&
			yield(store.Channel{PV: "C", Shards: []int{4, 3}}, nil)
	}
}

func (s *markStore) PutMetadata(_ context.Context, m store.PVMetadata) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errDown
	}
	s.meta = append(s.meta, m)
	return nil
}

func (s *markStore) MetadataAt(_ context.Context, _ string, at int64) (m store.PVMetadata, found bool, err error) {
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

// withLog runs a test of a log in fake time. stop ends the log as on shutdown: the log has a
// minute to write the queue.
func withLog(t *testing.T, f func(l *Log, s *markStore, stop func())) {
	synctest.Test(t, func(t *testing.T) {
		s := &markStore{marks: map[string]store.PVMark{}}
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
	withLog(t, func(l *Log, s *markStore, stop func()) {
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

// TestNoMarkEndsBeforeItBegins adds marks whose bounds come from a clock that was set back in between. Losses that
// wait together must cover all of them.
func TestNoMarkEndsBeforeItBegins(t *testing.T) {
	withLog(t, func(l *Log, s *markStore, stop func()) {
		s.set(true)
		twisted := sample.Mark{Time: 40e9, End: 10e9, Kind: sample.Lost, Reason: sample.Overrun}
		l.Add("A", sample.Mark{Time: 200e9, Kind: sample.Connected})
		testclock.Advance(time.Second) // the store has the mark, so the others wait
		l.Add("A", twisted)
		l.Add("A", sample.Mark{Time: 45e9, End: 50e9, Kind: sample.Lost, Reason: sample.Overrun})
		l.AddWaiting(context.Background(), "B", twisted)
		l.AddToShard(4, twisted)
		s.set(false)
		testclock.Advance(2 * time.Minute)
		stop()
		var got []string
		for _, m := range s.marks {
			if m.Kind == sample.Lost {
				got = append(got, fmt.Sprint(m.PV, " ", m.Time/1e9, "-", m.End/1e9))
			}
		}
		slices.Sort(got)
		if want := "[A 10-50 B 10-40 C 10-40]"; fmt.Sprint(got) != want {
			t.Errorf("marks %v, want %v", got, want)
		}
	})
}

func TestMarksWaitForTheStore(t *testing.T) {
	withLog(t, func(l *Log, s *markStore, _ func()) {
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
	withLog(t, func(l *Log, s *markStore, stop func()) {
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
	withLog(t, func(l *Log, s *markStore, stop func()) {
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
	withLog(t, func(l *Log, s *markStore, stop func()) {
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
	withLog(t, func(l *Log, s *markStore, stop func()) {
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

// TestMarksOfAShard checks that each PV of a shard gets a mark of the shard, also after the store was
// away and the queue was full.
func TestMarksOfAShard(t *testing.T) {
	for name, others := range map[string]int{"the queue has room": 0, "the queue is full": queueLen + batchLen} {
		t.Run(name, func(t *testing.T) {
			withLog(t, func(l *Log, s *markStore, stop func()) {
				s.set(true)
				for i := range others {
					l.Add("OTHER", sample.Mark{Time: int64(i), Kind: sample.Connected})
				}
				for i := range int64(3) {
					l.AddToShard(3, sample.Mark{Time: 10 + i, End: 20 + i, Kind: sample.Lost, Reason: sample.Damaged, Count: 5})
				}
				s.set(false)
				testclock.Advance(time.Minute)
				stop()
				lost := map[string]uint64{}
				for _, m := range s.marks {
					if m.Kind == sample.Lost && m.PV != "OTHER" { // marks of OTHER may be dropped
						lost[m.PV] += m.Count
					}
				}
				if want := map[string]uint64{"A": 15, "C": 15}; !maps.Equal(lost, want) {
					t.Errorf("%v samples are marked as lost, want %v", lost, want)
				}
			})
		})
	}
}

// TestAnAbsenceIsMarkedOnce checks that an engine that restarts, or takes a shard over, does not
// mark again that a PV is not found, and marks it again after another state.
func TestAnAbsenceIsMarkedOnce(t *testing.T) {
	withLog(t, func(l *Log, s *markStore, stop func()) {
		add := func(at int64, kinds ...sample.MarkKind) {
			for i, k := range kinds {
				l.Add("SR:A", sample.Mark{Time: at + int64(i), Kind: k})
			}
			testclock.Advance(time.Second)
		}
		add(100, sample.Searching)
		add(110, sample.Searching)                                        // the same
		add(120, sample.Lost, sample.Searching)                           // a loss says nothing about the state
		add(130, sample.Refused)                                          // something else
		add(140, sample.Refused, sample.Searching, sample.Searching)      // in one batch
		add(150, sample.Connected, sample.Disconnected, sample.Connected) // never repeated
		add(160, sample.Connected)
		add(170, sample.Searching)
		stop()
		var got []string
		for _, m := range slices.SortedFunc(maps.Values(s.marks), func(a, b store.PVMark) int { return cmp.Compare(a.Time, b.Time) }) {
			got = append(got, fmt.Sprint(m.Time, m.Kind))
		}
		want := "[100 searching 120 lost 130 refused 141 searching 150 connected 151 disconnected 152 connected 160 connected 170 searching]"
		if fmt.Sprint(got) != want {
			t.Errorf("stored:  %v\nwant:    %s", got, want)
		}
	})
}

func TestAFullQueueDropsAndCounts(t *testing.T) {
	l := NewLog(&markStore{}, store.WriterID{}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	for range queueLen + 3 {
		l.Add("SR:A", sample.Mark{})
	}
	if n := l.dropped.Load(); n != 3 {
		t.Fatalf("%d dropped entries counted, want 3", n)
	}
}
