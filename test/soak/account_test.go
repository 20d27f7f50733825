package soak

import (
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
)

var zero = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// at returns the time of a step: PVs count ten steps a second.
func at(step int) time.Time { return zero.Add(time.Duration(step) * 100 * time.Millisecond) }

// entries returns a ledger with an entry every 50 steps, from step 100 to step 500.
func entries() (all []Sent) {
	for step := 100; step <= 500; step += 50 {
		all = append(all, Sent{step, at(step).UnixNano(), at(step).UnixNano() + 5e7})
	}
	return all
}

// samples returns the samples of the steps in the closed interval [first, last].
func samples(first, last int) (events []archive.Event) {
	for step := first; step <= last; step++ {
		events = append(events, archive.Event{Time: at(step).UnixNano(), Value: float64(step) * archive.Step})
	}
	return events
}

// without removes the steps in the closed interval [first, last].
func without(events []archive.Event, first, last int) []archive.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e archive.Event) bool { return e.Number() >= first && e.Number() <= last })
}

func mark(kind string, first, last int) archive.Mark {
	return archive.Mark{Kind: kind, Time: at(first), End: at(last)}
}

func TestVerdicts(t *testing.T) {
	whole := samples(90, 510)
	hole := without(whole, 200, 219)
	wrongTime := slices.Clone(whole)
	wrongTime[30].Time = at(400).UnixNano()
	spans := func(first, last int) []archive.Span { return []archive.Span{{Begin: at(first), End: at(last)}} }
	for _, c := range []struct {
		name     string
		events   []archive.Event
		evidence Evidence
		want     Verdict
		fails    [2]bool // with redundancy 2, with redundancy 1
	}{
		{"all steps", whole, Evidence{}, Verdict{}, [2]bool{false, false}},
		{"a hole", hole, Evidence{}, Verdict{Lost: 20, Unmarked: 20}, [2]bool{true, true}},
		{"a hole in a mark", hole, Evidence{Marks: []archive.Mark{mark("died", 199, 220)}}, Verdict{Lost: 20}, [2]bool{true, false}},
		{"a hole that begins before its mark", hole, Evidence{Marks: []archive.Mark{mark("lost", 210, 220)}},
			Verdict{Lost: 20, Unmarked: 7}, [2]bool{true, true}},
		{"a hole while the PV was disconnected", hole, Evidence{Marks: []archive.Mark{{Kind: "disconnected", Time: at(199)}, {Kind: "connected", Time: at(220)}}},
			Verdict{Lost: 20}, [2]bool{true, false}},
		{"a destroyed block without a mark", hole, Evidence{Destroyed: spans(200, 219)},
			Verdict{Destroyed: 20, Unmarked: 20}, [2]bool{true, true}},
		{"a destroyed block with a mark", hole, Evidence{Destroyed: spans(200, 219), Marks: []archive.Mark{mark("lost", 200, 219)}},
			Verdict{Destroyed: 20}, [2]bool{false, false}},
		{"a destroyed block of which reads fail", hole, Evidence{Destroyed: spans(200, 219), Refused: spans(190, 230)},
			Verdict{Destroyed: 20}, [2]bool{false, false}},
		{"a destroyed block, and samples next to it that cannot be read", without(whole, 195, 222), Evidence{Destroyed: spans(200, 219), Refused: spans(190, 230)},
			Verdict{Destroyed: 28}, [2]bool{false, false}},
		{"a destroyed block and a loss", without(hole, 300, 300), Evidence{Destroyed: spans(200, 219), Refused: spans(190, 230)},
			Verdict{Destroyed: 20, Lost: 1, Unmarked: 1}, [2]bool{true, true}},
		{"a loss at the end", without(whole, 481, 510), Evidence{}, Verdict{Lost: 20, Unmarked: 20}, [2]bool{true, true}},
		{"a loss at the beginning", without(whole, 90, 100), Evidence{}, Verdict{Lost: 1, Unmarked: 1}, [2]bool{true, true}},
		{"a step twice", append(slices.Clone(whole), whole[40]), Evidence{}, Verdict{Duplicated: 1}, [2]bool{true, true}},
		{"a wrong time", wrongTime, Evidence{}, Verdict{Misdated: 1}, [2]bool{true, true}},
		{"nothing", nil, Evidence{}, Verdict{Lost: 401, Unmarked: 401}, [2]bool{true, true}},
	} {
		a := NewAccount(entries(), false)
		half := len(c.events) / 2
		a.Add(c.events[:half])
		a.Add(c.events[half:])
		got := a.Judge("X", c.evidence)
		fails := [2]bool{got.Failed(true), got.Failed(false)}
		if len(got.Examples) == 0 && (fails[0] || fails[1]) {
			t.Errorf("%s: the verdict has no example", c.name)
		}
		got.Examples, c.want.PV, c.want.Sent = nil, "X", 401
		if got.Lost != c.want.Lost || got.Destroyed != c.want.Destroyed || got.Unmarked != c.want.Unmarked ||
			got.Duplicated != c.want.Duplicated || got.Misdated != c.want.Misdated || got.Sent != c.want.Sent {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
		if fails != c.fails {
			t.Errorf("%s: fails %v with redundancy 2 and 1, want %v", c.name, fails, c.fails)
		}
	}
}

func TestAVerdictNamesTheRunsOfMissingSteps(t *testing.T) {
	a := NewAccount(entries(), false)
	a.Add(without(without(samples(100, 500), 200, 219), 300, 300))
	v := a.Judge("X", Evidence{Marks: []archive.Mark{mark("died", 199, 220)}})
	if got := strings.Join(v.Examples, "\n"); !strings.Contains(got, "steps 200 to 219") || !strings.Contains(got, "; 0 of them are not explained") ||
		!strings.Contains(got, "steps 300 to 300") || !strings.Contains(got, "; 1 of them are not explained") {
		t.Errorf("got %s", got)
	}
}

// The clock of the IOC is set back by a minute at step 300. Marks have the time of arrival.
func TestStepsOfAnIOCWhoseClockChanges(t *testing.T) {
	back := func(step int, t int64) int64 {
		if step >= 300 {
			return t - 60e9
		}
		return t
	}
	sent, events := entries(), without(samples(90, 510), 400, 409)
	for i := range sent {
		sent[i].Stamp = back(sent[i].Step, sent[i].Stamp)
	}
	for i := range events {
		events[i].Time = back(events[i].Number(), events[i].Time)
	}
	a := NewAccount(sent, true)
	a.Add(events)
	if v := a.Judge("X", Evidence{Marks: []archive.Mark{mark("lost", 400, 409)}}); v.Lost != 10 || v.Failed(false) || !v.Failed(true) {
		t.Errorf("got %+v, want 10 lost steps in a mark", v)
	}
	if v := a.Judge("X", Evidence{}); v.Unmarked != 10 {
		t.Errorf("got %+v, want 10 steps without a mark", v)
	}
}

func TestCheckOfAnswers(t *testing.T) {
	a, b := entries()[1], entries()[3]
	whole := samples(150, 250)
	swapped := slices.Clone(whole)
	swapped[4], swapped[5] = swapped[5], swapped[4]
	for _, c := range []struct {
		name   string
		events []archive.Event
		want   Answer
	}{
		{"all steps", whole, Answer{}},
		{"a hole", without(whole, 200, 204), Answer{Missing: 5}},
		{"the last step is missing", without(whole, 250, 250), Answer{Missing: 1}},
		{"a step twice", slices.Insert(slices.Clone(whole), 3, whole[3]), Answer{Duplicated: 1}},
		{"a step from outside", append(slices.Clone(whole), samples(251, 251)...), Answer{Foreign: 1}},
		{"two samples in the wrong order", swapped, Answer{Unordered: true}},
		{"nothing", nil, Answer{Missing: 101}},
	} {
		if got := Check(a, b, c.events); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestTheLedgerKnowsWhatWasSeen(t *testing.T) {
	var l Ledger
	for _, s := range entries() {
		if err := l.Add("X", s); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.Sent("X", at(200)); len(got) != 2 || got[1].Step != 150 {
		t.Errorf("before step 200 was seen: got %v, want the steps 100 and 150", got)
	}
	if got := l.Sent("X", at(600)); len(got) != len(entries()) {
		t.Errorf("at the end: got %d entries, want %d", len(got), len(entries()))
	}
	if got := l.Sent("Y", at(600)); len(got) != 0 {
		t.Errorf("of an unknown PV: got %v", got)
	}
	if err := l.Add("X", Sent{Step: 500}); err == nil {
		t.Error("the ledger accepted a PV that does not count upwards")
	}
}

func TestLacks(t *testing.T) {
	whole := samples(150, 250)
	if got := Lacks(whole, without(whole, 200, 204)); got != 0 {
		t.Errorf("the later answer has more samples: got %d, want 0", got)
	}
	if got := Lacks(without(whole, 200, 204), whole); got != 5 {
		t.Errorf("the later answer has 5 samples fewer: got %d", got)
	}
}
