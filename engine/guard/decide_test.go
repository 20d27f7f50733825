package guard

import (
	"math/rand/v2"
	"testing"
	"time"

	"varve.dev/varve/engine/store"
)

const gib = int64(1) << 30

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) int64 { return now.Add(-d).UnixNano() }

func limits(bytes int64) Limits {
	l := Limits{Bytes: bytes}
	l.setDefaults()
	return l
}

func TestDecide(t *testing.T) {
	const year = 365 * 24 * time.Hour
	open := store.Cutoff{Before: ago(year), At: ago(time.Hour), Open: true, Settled: 0, Peak: 92 * gib, Size: 92 * gib, Limit: 100 * gib}
	recent := open
	recent.At = ago(5 * time.Minute)
	done := store.Cutoff{Before: ago(year), At: ago(time.Hour), Settled: 50 * gib, Peak: 70 * gib}
	for _, c := range []struct {
		name    string
		s       State
		limit   int64
		size    int64
		reason  Reason
		waiting int64
		raised  time.Duration // by how much
	}{
		{"no limit", State{Begins: ago(year)}, 0, 1000 * gib, NoLimit, 0, 0},
		{"little", State{Begins: ago(year)}, 100 * gib, 10 * gib, BelowLimit, 0, 0},
		{"between the marks, nothing begun", State{Begins: ago(year)}, 100 * gib, 89 * gib, BelowLimit, 0, 0},
		{"at the mark", State{Begins: ago(year)}, 100 * gib, 92 * gib, Dropping, 0, 0},
		{"the shards follow", State{Cutoff: open, Behind: 3, Deleted: gib}, 100 * gib, 92 * gib, Dropping, gib, 0},
		{"not enough was given up, and none is free", State{Cutoff: open, Deleted: gib, Last: Step{24 * time.Hour, gib}}, 100 * gib, 92 * gib, Dropping, gib, 48 * time.Hour},
		{"a step that gave nothing", State{Cutoff: open, Last: Step{24 * time.Hour, 0}}, 100 * gib, 92 * gib, Dropping, 0, 48 * time.Hour},
		{"most of the needed bytes are deleted", State{Cutoff: open, Deleted: 6 * gib, Last: Step{24 * time.Hour, 4 * gib}}, 100 * gib, 92 * gib, Dropping, 6 * gib, 6 * time.Hour},
		{"a step no longer than it makes sense", State{Cutoff: open, Last: Step{year, gib}}, 100 * gib, 92 * gib, Dropping, 0, (year - 24*time.Hour) / 8},
		{"enough, and none is free", State{Cutoff: open, Deleted: 8 * gib}, 100 * gib, 92 * gib, WaitingForRoom, 8 * gib, 0},
		{"enough, and some is free", State{Cutoff: open, Deleted: 8 * gib}, 100 * gib, 89 * gib, WaitingForRoom, 5 * gib, 0},
		{"enough, and all is free", State{Cutoff: open, Deleted: 8 * gib}, 100 * gib, 84 * gib, BelowLimit, 0, 0},
		{"enough, and it grows meanwhile", State{Cutoff: open, Deleted: 8 * gib}, 100 * gib, 93 * gib, WaitingForRoom, 8 * gib, 0},
		{"it grew while waiting, to above the mark", State{Cutoff: store.Cutoff{Before: ago(year), Peak: 92 * gib}, Deleted: 8 * gib}, 100 * gib, 98 * gib, Dropping, 8 * gib, 0},
		{"samples that were deleted long ago are free", State{Cutoff: done, Deleted: 50 * gib}, 100 * gib, 80 * gib, BelowLimit, 0, 0},
		{"and again at the mark", State{Cutoff: done, Deleted: 50 * gib}, 100 * gib, 90 * gib, Dropping, 0, 0},
		{"too few sizes are known", State{Begins: ago(year), Unsettled: true}, 100 * gib, 99 * gib, Measuring, 0, 0},
		{"too few sizes are known amid a deletion", State{Cutoff: open, Deleted: 4 * gib, Unsettled: true}, 100 * gib, 90 * gib, Measuring, 2 * gib, 0},
		{"too few sizes are known of a small archive", State{Begins: ago(year), Unsettled: true}, 100 * gib, 50 * gib, BelowLimit, 0, 0},
		{"the latest step was five minutes ago", State{Cutoff: recent, Deleted: gib, Last: Step{24 * time.Hour, gib}}, 100 * gib, 92 * gib, Dropping, gib, 0},
		{"at the mark in three days", State{Begins: ago(year), Left: 72 * time.Hour}, 100 * gib, 89 * gib, NearLimit, 0, 0},
		{"all is young", State{Begins: ago(25 * time.Hour)}, 100 * gib, 99 * gib, Dropping, 0, time.Hour},
		{"all is too young", State{Begins: ago(24*time.Hour + time.Minute)}, 100 * gib, 99 * gib, NothingLeft, 0, 0},
		{"a cutoff of another's clock, to come", State{Cutoff: store.Cutoff{Before: ago(-year)}}, 100 * gib, 99 * gib, NothingLeft, 0, 0},
		{"progress was lost", State{Cutoff: done, Deleted: 40 * gib}, 100 * gib, 80 * gib, BelowLimit, 0, 0},
	} {
		d := Decide(c.s, limits(c.limit), c.size, now)
		if d.Reason != c.reason || d.Waiting != c.waiting {
			t.Errorf("%s: %s, waiting for %d GiB; want %s and %d", c.name, d.Reason, d.Waiting/gib, c.reason, c.waiting/gib)
		}
		if up := time.Duration(d.Cutoff.Before - max(c.s.Cutoff.Before, c.s.Begins)); c.raised != 0 && (up-c.raised).Abs() > time.Minute {
			t.Errorf("%s: the cutoff rises by %v, want %v", c.name, up, c.raised)
		}
		if !d.Raised && d.Cutoff.Before != c.s.Cutoff.Before || d.Raised && (c.reason != Dropping || d.Cutoff.Before <= c.s.Cutoff.Before || d.Cutoff.Limit != c.limit || d.Cutoff.Size != c.size) {
			t.Errorf("%s: raised %v, %+v", c.name, d.Raised, d.Cutoff)
		}
	}
}

// archive is a model of an archive with a given number of raw bytes per hour. Shards delete
// the oldest hours with a delay, and the store frees the bytes even later.
type archive struct {
	hours  []int64 // bytes of each hour since begins
	begins time.Time
	raw    int64 // bytes of all hours
	other  int64 // bytes that are never deleted
	unfree int64 // deleted, but not free yet

	cutoff store.Cutoff
	given  int64
	behind int
}

func (a *archive) size() int64 { return a.raw + a.other + a.unfree }

// follow deletes the hours before the cutoff.
func (a *archive) follow() {
	for i := range a.hours {
		if a.begins.Add(time.Duration(i+1)*time.Hour).UnixNano() <= a.cutoff.Before {
			a.given, a.unfree = a.given+a.hours[i], a.unfree+a.hours[i]
			a.raw -= a.hours[i]
			a.hours[i] = 0
		}
	}
	a.behind = 0
}

// TestNoMoreThanNeeded frees space at random times. The guard must not take a step if the
// deleted bytes that are not free yet are enough, apart from the tenth that may never show up
// as free. Once everything deleted is free, the size must be below the mark, or above it by at
// most the bytes that the guard still waits for. An archive that grows as fast as space
// becomes free hides those bytes.
func TestNoMoreThanNeeded(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		a := &archive{begins: now.Add(-time.Duration(500+rng.IntN(20000)) * time.Hour)}
		per := 1 + rng.Int64N(1000)
		for range int(now.Sub(a.begins) / time.Hour) {
			if rng.IntN(200) == 0 {
				per = 1 + rng.Int64N(1000)
			}
			a.hours, a.raw = append(a.hours, per<<10), a.raw+per<<10
		}
		a.other = rng.Int64N(a.size()/2 + 1)
		l := limits(int64(float64(a.size()) * (0.8 + 0.4*rng.Float64())))
		grows, frees := rng.IntN(2) == 0, rng.IntN(3)
		clock, last, steps := now, Step{}, 0
		for look := range 3000 {
			clock = clock.Add(time.Minute)
			if grows && look < 2000 {
				a.other += rng.Int64N(l.Bytes / 20000)
			}
			switch {
			case frees == 0 && rng.IntN(30) == 0, frees == 1 && rng.IntN(500) == 0, look == 2000:
				a.unfree -= rng.Int64N(a.unfree + 1)
			case look > 2500:
				a.unfree = 0
			}
			if a.behind > 0 && rng.IntN(4) == 0 {
				a.follow()
				last.Bytes += a.given
			}
			s := State{Cutoff: a.cutoff, Deleted: a.given, Behind: a.behind, Begins: a.begins.UnixNano(), Last: last}
			size := a.size()
			d := Decide(s, l, size, clock)
			if d.Cutoff.Before < a.cutoff.Before || d.Cutoff.Before > clock.Add(-24*time.Hour).UnixNano() && d.Raised {
				t.Fatalf("seed %d: the cutoff goes from %v to %v", seed, when(a.cutoff.Before), when(d.Cutoff.Before))
			}
			if d.Raised {
				steps++
				if left := size - a.unfree; left <= l.low()-(a.given/toleratedShare) {
					t.Fatalf("seed %d, check %d: the cutoff rises, although only %d bytes would be left with a limit of %d", seed, look, left, l.Bytes)
				}
				if a.behind > 0 {
					t.Fatalf("seed %d: the cutoff rises before all shards have followed", seed)
				}
				if length := d.Cutoff.Before - max(a.cutoff.Before, a.begins.UnixNano()); length > int64(clock.Sub(a.begins))/8+int64(time.Hour) {
					t.Fatalf("seed %d: a step of %v is too long", seed, time.Duration(length))
				}
				last = Step{Length: time.Duration(d.Cutoff.Before - max(a.cutoff.Before, a.begins.UnixNano())), Bytes: -a.given}
				a.behind = 1
			}
			a.cutoff = d.Cutoff
		}
		if end := a.size(); end > l.high()+l.Bytes/16 && a.cutoff.Before < clock.Add(-26*time.Hour).UnixNano() {
			t.Errorf("seed %d: after %d steps the archive still has %d bytes with a limit of %d", seed, steps, end, l.Bytes)
		}
	}
}
