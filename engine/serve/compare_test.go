package serve

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

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
