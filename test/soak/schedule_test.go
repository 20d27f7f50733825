package soak

import (
	"slices"
	"testing"
	"time"
)

var someFaults = []Fault{
	{Name: "kill", Exclusive: true},
	{Name: "node-lost", Exclusive: true, Least: 5 * time.Second, Most: 40 * time.Second},
	{Name: "scale", Exclusive: true},
	{Name: "edit"},
	{Name: "clock-step", Least: time.Second, Most: 20 * time.Second},
}

func take(t *testing.T, s *Sequence, n int) (events []Event) {
	t.Helper()
	for range n {
		e, ok := s.Next()
		if !ok {
			t.Fatal("the sequence has ended")
		}
		events = append(events, e)
	}
	return events
}

func TestASeedDeterminesTheSchedule(t *testing.T) {
	exclusive, others := Plan(7, someFaults)
	reversed := slices.Clone(someFaults)
	slices.Reverse(reversed)
	again, othersAgain := Plan(7, reversed)
	first := take(t, exclusive, 50)
	if !slices.Equal(first, take(t, again, 50)) || !slices.Equal(take(t, others, 50), take(t, othersAgain, 50)) {
		t.Error("two schedules of one seed differ")
	}
	different, _ := Plan(8, someFaults)
	if slices.Equal(first, take(t, different, 50)) {
		t.Error("another seed gives the same schedule")
	}
}

func TestASequenceHasOnlyItsFaultsAndEachOncePerRound(t *testing.T) {
	for seed := range uint64(100) {
		exclusive, others := Plan(seed, someFaults)
		for _, c := range []struct {
			sequence *Sequence
			want     []string
		}{{exclusive, []string{"kill", "node-lost", "scale"}}, {others, []string{"clock-step", "edit"}}} {
			for round := range 5 {
				var got []string
				for _, e := range take(t, c.sequence, len(c.want)) {
					got = append(got, e.Fault)
				}
				slices.Sort(got)
				if !slices.Equal(got, c.want) {
					t.Fatalf("seed %d, round %d: got %v, want %v", seed, round, got, c.want)
				}
			}
		}
	}
}

func TestTimesOfEventsAreWithinTheirBounds(t *testing.T) {
	exclusive, _ := Plan(1, someFaults)
	shortest, longest := time.Hour, time.Duration(0)
	for _, e := range take(t, exclusive, 3000) {
		if e.Pause < minPause || e.Pause > maxExclusivePause {
			t.Fatalf("the pause is %v", e.Pause)
		}
		if e.Fault != "node-lost" {
			if e.Lasts != 0 {
				t.Fatalf("%s lasts %v, want 0", e.Fault, e.Lasts)
			}
			continue
		}
		shortest, longest = min(shortest, e.Lasts), max(longest, e.Lasts)
	}
	if shortest < 5*time.Second || shortest > 6*time.Second || longest > 40*time.Second || longest < 39*time.Second {
		t.Errorf("outages last between %v and %v, want 5s to 40s", shortest, longest)
	}
}

func TestASequenceWithoutFaultsHasNoEvents(t *testing.T) {
	_, others := Plan(1, someFaults[:2])
	if e, ok := others.Next(); ok {
		t.Errorf("got %v", e)
	}
}
