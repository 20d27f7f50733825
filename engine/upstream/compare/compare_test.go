package compare

import (
	"context"
	"errors"
	"iter"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/upstream"
)

const second = int64(time.Second)

// ramp returns samples at the seconds 0 to n-1.
func ramp(n int) (all []item) {
	for i := range int64(n) {
		all = append(all, item{sample.Sample{Time: i * second, Word: math.Float64bits(float64(i))}, sample.Float64})
	}
	return all
}

// archive yields samples in runs of at most size samples, and then an error if there is one. The memory of
// a run is used again, as that of a real archive.
func archive(all []item, size int, err error) Samples {
	return func(context.Context, string, int64, int64) iter.Seq2[*sample.Run, error] {
		return func(yield func(*sample.Run, error) bool) {
			run := &sample.Run{}
			for i, s := range all {
				if i == 0 || run.Len() == 0 {
					run.Reset(s.typ)
				}
				run.Append(&s.Sample)
				if run.Len() == size || i+1 == len(all) || all[i+1].typ != s.typ {
					if !yield(run, nil) {
						return
					}
					run.Reset(s.typ)
				}
			}
			if err != nil {
				yield(nil, err)
			}
		}
	}
}

// TestFindsPlantedDifferences plants 20 differences of 6 kinds among 1000 samples.
func TestFindsPlantedDifferences(t *testing.T) {
	here, there := ramp(1000), ramp(1000)
	want := map[int64]Kind{}
	for _, i := range []int64{100, 300, 301} {
		there[i].Word++
		want[i] = Value
	}
	for _, i := range []int64{150, 350, 999} {
		there[i].Time += 10 * int64(time.Millisecond)
		want[i] = Time
	}
	for _, i := range []int64{0, 550, 551} {
		here[i].Tag = sample.MakeTag(2, 3)
		want[i] = Alarm
	}
	for _, i := range []int64{120, 520, 521} {
		there[i].typ = sample.Int32
		want[i] = Type
	}
	drop := func(all []item, k Kind, seconds ...int64) []item {
		for _, i := range seconds {
			want[i] = k
		}
		return slices.DeleteFunc(all, func(s item) bool { return slices.Contains(seconds, s.Time/second) })
	}
	here = drop(here, MissingHere, 20, 21, 700, 998)
	there = drop(there, MissingThere, 1, 22, 701, 997)
	if len(want) != 20 {
		t.Fatalf("%d differences are planted", len(want))
	}
	for _, size := range []int{1, 7, 4096} {
		r, err := PV(t.Context(), "A", Options{Here: archive(here, size, nil), There: archive(there, 5, nil), Near: 100 * time.Millisecond, Examples: 10})
		if err != nil {
			t.Fatal(err)
		}
		got := map[int64]Kind{}
		for _, d := range r.Examples {
			got[d.At.Unix()] = d.Kind
		}
		if !maps.Equal(got, want) || r.Differences() != 20 || r.Here != 996 || r.There != 996 || r.Equal != 980 {
			t.Errorf("in runs of %d, the comparison finds %+v, want %v", size, r, want)
		}
	}
}

// TestEqualTimes compares several samples of one time, in different orders.
func TestEqualTimes(t *testing.T) {
	here, there := ramp(4), ramp(4)
	for i := range 3 {
		here[i].Time, there[i].Time = 0, 0
	}
	there[0], there[2] = there[2], there[0]
	there = slices.Delete(there, 1, 2)
	r, err := PV(t.Context(), "A", Options{Here: archive(here, 2, nil), There: archive(there, 9, nil), Examples: 1})
	if err != nil || r.Equal != 3 || r.Differences() != 1 || r.Counts[MissingThere] != 1 || r.Examples[0].Here != "1.0" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSamplesThatWaitAreBounded compares more samples that only one archive has than may wait.
func TestSamplesThatWaitAreBounded(t *testing.T) {
	r, err := PV(t.Context(), "A", Options{Here: archive(ramp(3*maxUnmatched), 4096, nil), There: archive(nil, 1, nil), Near: 24 * time.Hour, Examples: 1})
	if err != nil || r.Counts[MissingThere] != 3*maxUnmatched || r.Differences() != 3*maxUnmatched || len(r.Examples) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestErrorsAreNoDifferences checks that an archive that fails is not taken for one without samples.
func TestErrorsAreNoDifferences(t *testing.T) {
	failed := errors.New("it fails")
	for _, sides := range [][2]Samples{
		{archive(ramp(9), 2, nil), archive(ramp(3), 2, failed)},
		{archive(nil, 2, failed), archive(ramp(3), 2, nil)},
	} {
		r, err := PV(t.Context(), "A", Options{Here: sides[0], There: sides[1]})
		if !errors.Is(err, failed) || r.Error == "" || r.Differences() > 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	unknown := archive(nil, 1, upstream.ErrUnknownPV)
	if r, err := PV(t.Context(), "A", Options{Here: archive(ramp(3), 2, nil), There: unknown}); err != nil || !r.UnknownThere || r.Counts[MissingThere] != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := PV(t.Context(), "A", Options{Here: unknown, There: unknown}); err == nil {
		t.Error("a PV that no archive knows is equal in both")
	}
}
