package tiling

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/store"
)

// lateSeries returns the state of a PV with bins of 10 s.
func lateSeries(pv string) *series {
	return &series{pv: pv, levels: []*level{newLevel(store.LevelOf(10*time.Second, store.Forever))}}
}

func newLateShard() *Shard { return New(Config{Cutoff: func() int64 { return 0 }}) }

// TestSpansOfLateSamplesAreBounded checks that any number of late samples of a PV takes little memory,
// and that the spans contain them all.
func TestSpansOfLateSamplesAreBounded(t *testing.T) {
	s, ser, rng := newLateShard(), lateSeries("A"), rand.New(rand.NewPCG(1, 0))
	var times []int64
	for range 1000 {
		at := rng.Int64N(int64(1000 * time.Hour))
		times = append(times, at)
		s.noteLate(ser, []span{{at, at}})
	}
	spans := s.late["A"].spans
	if len(spans) > maxSpans {
		t.Errorf("the late samples have %d spans, which is more than maxSpans", len(spans))
	}
	for _, gap := range []int64{0, int64(time.Minute), int64(100 * time.Hour)} {
		merged := mergeSpans(spans, gap)
		for i := 1; i < len(merged); i++ {
			if merged[i].first-merged[i-1].last <= gap {
				t.Fatalf("the spans %v are at most %v apart", merged[i-1:i+1], time.Duration(gap))
			}
		}
		for _, at := range times {
			if !slices.ContainsFunc(merged, func(s span) bool { return s.first <= at && at <= s.last }) {
				t.Fatalf("no span contains %d", at)
			}
		}
	}
}

// TestCorrectionsAreDue checks when the corrections of PVs are due, how many at a time, and in which order.
func TestCorrectionsAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLateShard()
		p := Pace{Quiet: 5 * time.Minute, Age: 30 * time.Minute, Most: 3}
		expect := func(want ...string) {
			t.Helper()
			if got := s.Due(p); !slices.Equal(got, want) {
				t.Errorf("%v are due, want %v", got, want)
			}
		}
		for i := range 5 {
			s.noteLate(lateSeries(fmt.Sprint(i)), []span{{0, 0}})
		}
		first := s.LateNumber("0")
		expect()
		time.Sleep(4 * time.Minute)
		s.noteLate(lateSeries("0"), []span{{1, 1}})
		expect()
		time.Sleep(time.Minute)
		expect("1", "2", "3")
		s.Hurry([]string{"4"})
		expect("4", "1", "2")
		for _, pv := range []string{"1", "2", "3", "4"} {
			delete(s.late, pv)
		}
		for range 6 {
			expect()
			if s.LateNumber("0") != first {
				t.Error("the first PV counts as corrected")
			}
			time.Sleep(4 * time.Minute)
			s.noteLate(lateSeries("0"), []span{{1, 1}})
		}
		time.Sleep(time.Minute)
		expect("0") // although more samples come
		s.late["0"].retry = time.Now().Add(retryLate)
		expect()
		time.Sleep(retryLate)
		expect("0")
		delete(s.late, "0")
		if n := s.LateNumber("0"); n != 0 {
			t.Errorf("the number of the late samples of a corrected PV is %d, want 0", n)
		}
		if s.noteLate(lateSeries("0"), []span{{2, 2}}); s.LateNumber("0") == first {
			t.Error("a PV that is late again has the number of the late samples that were corrected")
		}
	})
}
