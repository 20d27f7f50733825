package soak

import (
	"errors"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
)

// TestCollectReadsAroundADestroyedBlock reads from an archive that refuses to answer about the steps
// 200 to 219, and about windows whose last sample before the window is one of these steps. The steps
// 220 to 239 were lost.
func TestCollectReadsAroundADestroyedBlock(t *testing.T) {
	all := without(samples(90, 510), 220, 239)
	reads := 0
	read := func(from, to time.Time) (events []archive.Event, err error) {
		reads++
		before := 0
		for _, e := range all {
			switch at := time.Unix(0, e.Time); {
			case at.Before(from):
				before = e.Number()
				continue
			case !at.Before(to):
				continue
			}
			events = append(events, e)
		}
		for _, e := range append(events, archive.Event{Value: float64(before) * archive.Step}) {
			if n := e.Number(); n >= 200 && n <= 219 {
				return nil, errors.New("block 1 cannot be read")
			}
		}
		return events, nil
	}
	a := NewAccount(entries(), false)
	e := Evidence{
		Destroyed: []archive.Span{{Begin: at(200), End: at(219)}},
		Marks:     []archive.Mark{mark("lost", 219, 240)},
	}
	if err := a.Collect(read, &e, at(100), at(501)); err != nil {
		t.Fatal(err)
	}
	if v := a.Judge("X", e); v.Failed(false) || v.Destroyed+v.Lost < 40 || v.Destroyed+v.Lost > 60 {
		t.Errorf("got %+v, want 20 destroyed, 20 lost and few other missing steps", v)
	}
	if reads > 100 {
		t.Errorf("%d reads, want at most 100", reads)
	}
}

func TestCollectReturnsOtherErrors(t *testing.T) {
	away := errors.New("the archive is away")
	a := NewAccount(entries(), false)
	e := Evidence{Destroyed: []archive.Span{{Begin: at(200), End: at(219)}}}
	read := func(time.Time, time.Time) ([]archive.Event, error) { return nil, away }
	if err := a.Collect(read, &e, at(300), at(400)); !errors.Is(err, away) {
		t.Errorf("got %v, want %v", err, away)
	}
}
