package mark

import (
	"context"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

// TestAnUnreadableDirectoryKeepsNoMarkWaiting makes the directory unreadable, so that nobody knows which
// PVs get the mark of a shard. Other marks and metadata must be stored, Sync must return, and the PVs get
// their marks as soon as the directory can be read.
func TestAnUnreadableDirectoryKeepsNoMarkWaiting(t *testing.T) {
	withLog(t, func(l *Log, s *markStore, stop func()) {
		s.unreadable = true
		l.AddToShard(3, sample.Mark{Time: 10, End: 20, Kind: sample.Lost, Reason: sample.Damaged})
		l.Add("B", sample.Mark{Time: 30, Kind: sample.Connected})
		l.Metadata("B", 30, &sample.Metadata{Units: "mA"})
		if err := l.Sync(context.Background()); err != nil { // it would block forever
			t.Fatal(err)
		}
		if len(s.marks) != 1 || len(s.meta) != 1 {
			t.Errorf("%d marks and %d entries of metadata are stored, want one of each", len(s.marks), len(s.meta))
		}
		testclock.Advance(time.Hour)
		l.AddToShard(3, sample.Mark{Time: 10 + int64(time.Hour), End: 20 + int64(time.Hour), Kind: sample.Lost, Reason: sample.Damaged})
		s.mu.Lock()
		if s.unreadable = false; s.reads < 30 || s.reads > 300 {
			t.Errorf("the directory was read %d times in an hour", s.reads)
		}
		s.mu.Unlock()
		testclock.Advance(3 * time.Minute)
		if len(s.marks) != 5 {
			t.Errorf("%d marks are stored, want that of B, and two of A and C", len(s.marks))
		}
		stop()
	})
}

// TestADeletionWins deletes the marks of a shard after the directory was read and before the marks of the shard
// are written. No mark may be left.
func TestADeletionWins(t *testing.T) {
	withLog(t, func(l *Log, s *markStore, stop func()) {
		deleted := make(chan error, 1)
		s.listed = func() {
			go func() {
				deleted <- l.Deleting(context.Background(), func() error {
					s.mu.Lock()
					defer s.mu.Unlock()
					clear(s.marks)
					return nil
				})
			}()
			testclock.Advance(time.Second)
		}
		l.AddToShard(3, sample.Mark{Time: 10, End: 20, Kind: sample.Lost, Reason: sample.Damaged})
		testclock.Advance(time.Minute)
		if err := <-deleted; err != nil || len(s.marks) > 0 {
			t.Errorf("%d marks are left after the deletion, which returned %v", len(s.marks), err)
		}
		stop()
	})
}

// TestMarksOfAnUnreadableShardAreDropped stops the log while the directory cannot be read. The log must
// end when its time is over.
func TestMarksOfAnUnreadableShardAreDropped(t *testing.T) {
	withLog(t, func(l *Log, s *markStore, stop func()) {
		s.unreadable = true
		for i := range int64(3) {
			l.AddToShard(3, sample.Mark{Time: i * int64(time.Hour), Kind: sample.Lost, Reason: sample.Damaged})
		}
		testclock.Advance(time.Hour)
		begun := time.Now()
		stop()
		if took := time.Since(begun); took > time.Minute || l.dropped.Load() != 3 || len(s.marks) != 0 {
			t.Errorf("the log ended after %v and dropped %d marks; %d are stored", took, l.dropped.Load(), len(s.marks))
		}
	})
}

// TestMerge checks that losses that are far from each other stay apart, so that no mark covers a time
// without losses, and that their number is limited.
func TestMerge(t *testing.T) {
	const s = int64(time.Second)
	loss := func(from, to int64, n uint64) sample.Mark {
		return sample.Mark{Time: from * s, End: to * s, Kind: sample.Lost, Reason: sample.Damaged, Count: n}
	}
	for name, c := range map[string]struct{ losses, want []sample.Mark }{
		"far from each other": {[]sample.Mark{loss(500, 510, 1), loss(0, 10, 2)}, []sample.Mark{loss(0, 10, 2), loss(500, 510, 1)}},
		"overlapping":         {[]sample.Mark{loss(0, 10, 1), loss(5, 30, 2)}, []sample.Mark{loss(0, 30, 3)}},
		"within another":      {[]sample.Mark{loss(0, 100, 1), loss(5, 30, 2)}, []sample.Mark{loss(0, 100, 3)}},
		"close":               {[]sample.Mark{loss(0, 10, 1), loss(20, 30, 2)}, []sample.Mark{loss(0, 30, 3)}},
		"joining two":         {[]sample.Mark{loss(0, 10, 1), loss(30, 40, 1), loss(15, 25, 1)}, []sample.Mark{loss(0, 40, 3)}},
		"without an end":      {[]sample.Mark{loss(0, 0, 1), {Time: 100 * s, Count: 1}, {Time: 105 * s, Count: 1}}, []sample.Mark{loss(0, 0, 1), {Time: 100 * s, End: 105 * s, Count: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []sample.Mark
			for _, m := range c.losses {
				got = Merge(got, m)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v\nwant %+v", got, c.want)
			}
		})
	}
	var many []sample.Mark
	for i := range int64(100) {
		many = Merge(many, loss(i*1000, i*1000+i, 1))
	}
	n := uint64(0)
	for _, m := range many {
		n += m.Count
	}
	if len(many) != maxMerged || n != 100 || many[0].Time != 0 || many[maxMerged-1].End != 99*1000*s+99*s {
		t.Errorf("%d losses of %d samples from %d to %d", len(many), n, many[0].Time, many[maxMerged-1].End)
	}
}
