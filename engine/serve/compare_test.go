package serve

import (
	"maps"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/upstream"
	"varve.dev/varve/engine/upstream/compare"
)

// upstream returns the archive as another program reads it.
func (r *rig) upstream() *upstream.Appliance {
	base, err := url.Parse(r.url + "/retrieval")
	r.check(err)
	transport := &http.Transport{DisableKeepAlives: true}
	return &upstream.Appliance{Server: upstream.Server{Base: base, Client: &http.Client{Transport: transport}}}
}

// TestArchivesAreCompared compares two archives by what they send: many chunks of several types over a
// change of the year, metadata, and arrays with bytes that are escaped.
func TestArchivesAreCompared(t *testing.T) {
	array := &sample.Run{Type: sample.Uint8.Array()}
	array.Append(&sample.Sample{Time: newYear - 5*second, Bytes: []byte{27, 10, 13, 0, 1}, Tag: sample.MakeTag(1, 4)})
	var rigs [2]*rig
	for i := range rigs {
		r := newRig(t)
		r.put("X", array, 1)
		r.put("X", ramp(newYear, 20_000), 2)
		r.putMetadata("X", 3, "mA", 5, "the beam")
		rigs[i] = r
	}
	rigs[0].put("X", ramp(newYear+30_000*second, 2), 3)
	opts := compare.Options{Here: rigs[0].upstream().Samples, There: rigs[1].upstream().Samples, From: newYear - 10*second, To: newYear + 30_000*second, Examples: 5}
	r, err := compare.PV(t.Context(), "X", opts)
	if err != nil || r.Here != 20_002 || r.Equal != 20_001 || r.Differences() != 1 || r.Counts[compare.MissingThere] != 1 || r.Examples[0].At.UnixNano() != opts.To {
		t.Errorf("the comparison finds %+v, %v", r, err)
	}
	if r, err = compare.PV(t.Context(), "Y", opts); err == nil || !strings.Contains(err.Error(), "neither") {
		t.Errorf("an unknown PV: %+v, %v", r, err)
	}
	if err := rigs[0].upstream().Check(t.Context()); err != nil {
		t.Errorf("the archive does not pass for one: %v", err)
	}
}

// TestPlantedDifferencesAreFound plants 20 differences of 6 kinds among the samples of two servers: nothing else
// differs.
func TestPlantedDifferencesAreFound(t *testing.T) {
	at := func(i int64) int64 { return newYear + i*second }
	want := map[int64]compare.Kind{}
	plant := func(k compare.Kind, seconds ...int64) {
		for _, i := range seconds {
			want[at(i)] = k
		}
	}
	plant(compare.Value, 100, 300, 301)
	plant(compare.Time, 150, 350, 999)
	plant(compare.Alarm, 0, 550, 551)
	plant(compare.Type, 120, 520, 521)
	plant(compare.MissingHere, 20, 21, 700, 998)
	plant(compare.MissingThere, 1, 22, 701, 997)
	if len(want) != 20 {
		t.Fatalf("%d differences are planted", len(want))
	}
	here, there := &sample.Run{Type: sample.Float64}, &sample.Run{Type: sample.Float64}
	ints := &sample.Run{Type: sample.Int32}
	for i := range int64(1000) {
		s := sample.Sample{Time: at(i), Word: math.Float64bits(float64(i))}
		other, typ := s, there
		switch want[s.Time] {
		case compare.Value:
			other.Word = math.Float64bits(float64(-i))
		case compare.Time:
			other.Time += 10 * int64(time.Millisecond)
		case compare.Alarm:
			other.Tag = sample.MakeTag(sample.Major, 3)
		case compare.Type:
			other.Word, typ = uint64(i), ints
		}
		if want[s.Time] != compare.MissingHere {
			here.Append(&s)
		}
		if want[s.Time] != compare.MissingThere {
			typ.Append(&other)
		}
	}
	var rigs [2]*rig
	for i := range rigs {
		rigs[i] = newRig(t)
	}
	rigs[0].put("X", here, 1)
	rigs[1].put("X", there, 1)
	rigs[1].put("X", ints, 2)
	r, err := compare.PV(t.Context(), "X", compare.Options{
		Here: rigs[0].upstream().Samples, There: rigs[1].upstream().Samples, From: newYear, To: at(2000), Near: 100 * time.Millisecond, Examples: 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[int64]compare.Kind{}
	for _, d := range r.Examples {
		got[d.At.UnixNano()] = d.Kind
	}
	if !maps.Equal(got, want) || r.Differences() != 20 || r.Here != 996 || r.There != 996 || r.Equal != 980 {
		t.Errorf("the comparison finds %+v", r)
	}
}

// TestLostSamplesAreNoDifferences compares with an archive that leaves out a damaged block.
func TestLostSamplesAreNoDifferences(t *testing.T) {
	whole, damaged := newRig(t), newRig(t)
	whole.putMinutes("X", []int{0, 1, 2}, nil, nil)
	damaged.putMinutes("X", []int{0, 2}, []int{1}, func(blob []byte) []byte {
		blob[len(blob)/2] ^= 1
		return blob
	})
	opts := compare.Options{Here: whole.upstream().Samples, There: damaged.upstream().Samples, From: newYear, To: newYear + 600*second}
	if r, err := compare.PV(t.Context(), "X", opts); err == nil || !strings.Contains(err.Error(), "lacks samples") {
		t.Errorf("the comparison finds %+v, %v", r, err)
	}
}
