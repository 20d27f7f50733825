package clients

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

const second = int64(time.Second)

// postProcessors are the names of all post-processors, with their parameters: a width of bins, a number of
// points or samples, a number of deviations or a deadband.
var postProcessors = map[string]string{
	"firstSample": "width", "lastSample": "width", "firstFill": "width", "lastFill": "width", "caplotbinning": "width",
	"ignoreflyers": "width real", "flyers": "width real", "deadBand": "real", "nth": "points", "ncount": "",
	"mean": "width", "min": "width", "max": "width", "count": "width", "median": "width", "std": "width", "jitter": "width",
	"variance": "width", "popvariance": "width", "rms": "width", "kurtosis": "width", "skewness": "width", "linear": "width",
	"loess": "width", "errorbar": "width", "stats": "width", "optimized": "points", "optimLastSample": "points",
	"meanSample": "width", "minSample": "width", "maxSample": "width", "countSample": "width", "medianSample": "width",
	"stdSample": "width", "jitterSample": "width", "varianceSample": "width", "popvarianceSample": "width", "rmsSample": "width",
	"kurtosisSample": "width", "skewnessSample": "width", "linearSample": "width", "loessSample": "width",
	"errorbarSample": "width", "statsSample": "width", "optimizedSample": "points", "optimLastSampleSample": "points",
}

// randomSeries is a random series of samples of a PV and a request for it, as differential.py reads them.
type randomSeries struct {
	PV      string         `json:"pv"`
	From    int64          `json:"from"`
	To      int64          `json:"to"`
	Samples []randomSample `json:"samples"`
	Calls   []string       `json:"calls"`
	runs    []*sample.Run  // the samples, in blocks as they are stored
}

type randomSample struct {
	Time     int64  `json:"t"`
	Value    string `json:"v,omitempty"` // JSON has no NaN
	Text     string `json:"text,omitempty"`
	Array    bool   `json:"array,omitempty"`
	Severity int    `json:"sev"`
	Status   int    `json:"status"`
}

// newSeries has bursts, gaps of many bins, equal times and values, NaN, infinities, all severities, and in some
// series changes of type. Some series begin before the range and others long after its start; some have
// one sample or none. A range is seconds to weeks long, and a bin a second to a day.
func newSeries(seed uint64) *randomSeries {
	rng := rand.New(rand.NewPCG(seed, 18))
	span := []int64{20, 600, 6 * 3600, 40 * 24 * 3600}[rng.IntN(4)] * second
	grain := []int64{1, 1e6, 1e6, second}[rng.IntN(4)] // of the times of samples
	s := &randomSeries{PV: fmt.Sprintf("T:SERIES:%d", seed), Samples: []randomSample{}, From: newYear + rng.Int64N(span)/1e6*1e6}
	s.To = s.From + rng.Int64N(span)/1e6*1e6
	s.addSamples(rng, s.From+(rng.Int64N(3)-1)*rng.Int64N(span/2), span, grain)
	if n := len(s.Samples); n > 0 && grain > 1 {
		if rng.IntN(4) == 0 {
			s.From = min(s.Samples[rng.IntN(n)].Time, s.To) // a sample is at the start
		}
		if at := s.Samples[rng.IntN(n)].Time; rng.IntN(4) == 0 && at >= s.From {
			s.To = at
		}
	}
	for _, name := range slices.Sorted(maps.Keys(postProcessors)) {
		s.Calls = append(s.Calls, s.randomCall(rng, name))
	}
	return s
}

// read returns the number of samples that a read yields: those of the range, and the one before it unless there is
// one at its start.
func (s *randomSeries) read() (n int) {
	for _, one := range s.Samples {
		switch {
		case one.Time <= s.From && n < 1:
			n = 1
		case one.Time > s.From && one.Time <= s.To:
			n++
		}
	}
	return n
}

// addSamples adds samples from a time to beyond the end of the range.
func (s *randomSeries) addSamples(rng *rand.Rand, at, span, grain int64) {
	value := randomValue(rng)
	typ, changes, repeats := sample.Float64, rng.IntN(3) == 0, rng.IntN(3) == 0
	pause := span / []int64{6000, 600, 20}[rng.IntN(3)]
	for i := range []int{0, 1, 250, 250, 250, 250}[rng.IntN(6)] * (1 + rng.IntN(2)) {
		later := int64(0)
		switch rng.IntN(8) {
		case 0, 1:
		case 2:
			later = rng.Int64N(span / 6)
		default:
			later = rng.Int64N(pause)
		}
		if later = later / grain * grain; !repeats {
			later = max(later, grain)
		}
		if i == 0 {
			later = at/grain*grain - at
		}
		at += later
		if changes && later > 0 && rng.IntN(20) == 0 {
			typ = []sample.Type{sample.Float64, sample.Int32, sample.Enum, sample.String, sample.Float64.Array()}[rng.IntN(5)]
		}
		// The engine drops duplicates, so a sample has another status than the one before it.
		in := randomSample{Time: at, Severity: max(0, rng.IntN(12)-8), Status: i % 20}
		s.add(rng, typ, in, value(), later > 0)
	}
}

// randomValue returns a function that returns random values of a series.
func randomValue(rng *rand.Rand) func() float64 {
	offset := []float64{0, 0, 1e9, -3e5}[rng.IntN(4)]
	scale := []float64{1, 0.1, 1e-6, 1e60}[rng.IntN(4)]
	if offset != 0 {
		scale = 1
	}
	odd := []int{1 << 30, 100, 8}[rng.IntN(3)] // one in odd values is not finite
	if rng.IntN(6) == 0 {
		return outliers(rng)
	}
	return func() float64 {
		if rng.IntN(odd) == 0 {
			return []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(3)]
		}
		if rng.IntN(2) == 0 {
			return offset + scale*rng.NormFloat64()
		}
		return offset + scale*float64(rng.IntN(8))
	}
}

// outliers returns a function that returns small random numbers, and now and then a long burst of large ones.
func outliers(rng *rand.Rand) func() float64 {
	n := 0
	return func() float64 {
		n++
		if n%250 < 160 {
			return rng.NormFloat64() / 1000
		}
		return float64(100*(n%2*2-1)) + rng.NormFloat64()
	}
}

// add adds a sample. It may begin a new block if the sample is later than the one before it.
func (s *randomSeries) add(rng *rand.Rand, typ sample.Type, in randomSample, v float64, later bool) {
	stored := sample.Sample{Time: in.Time, Tag: sample.MakeTag(sample.Severity(in.Severity), uint16(in.Status)), Word: math.Float64bits(v)}
	switch typ {
	case sample.String:
		in.Text = fmt.Sprintf("state %d", rng.IntN(4))
		stored.Bytes = []byte(in.Text)
	case sample.Float64.Array():
		stored.Bytes = binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
		stored.Bytes = append(stored.Bytes, make([]byte, 16)...)
		in.Array = true
	case sample.Int32, sample.Enum:
		v = float64(rng.IntN(8))
		stored.Word = uint64(v)
	}
	if typ != sample.String {
		in.Value = strconv.FormatFloat(v, 'g', -1, 64)
	}
	s.Samples = append(s.Samples, in)
	k := len(s.runs) - 1
	if k < 0 || s.runs[k].Type != typ || later && (rng.IntN(10) == 0 || store.Month.Of(s.runs[k].Times[0]) != store.Month.Of(in.Time)) {
		s.runs = append(s.runs, &sample.Run{Type: typ})
		k++
	}
	s.runs[k].Append(&stored)
}

// randomCall returns a post-processor with random parameters, for at most a few hundred bins of the range.
func (s *randomSeries) randomCall(rng *rand.Rand, name string) string {
	call, span := []string{name}, s.To-s.From
	for _, param := range strings.Fields(postProcessors[name]) {
		switch param {
		case "width":
			least := float64(max(1, span/second/400))
			call = append(call, strconv.Itoa(int(least*math.Pow(86400/least, rng.Float64()*rng.Float64()))))
		case "points":
			n := 1 + rng.IntN(60)
			if rng.IntN(2) == 0 { // as many as there are samples, or one less
				n = max(1, s.read()-rng.IntN(2))
			}
			call = append(call, strconv.Itoa(n))
		case "real": // no number is exactly so far away
			call = append(call, []string{"0.7654321", "1.2345678", "2.3456789"}[rng.IntN(3)])
		}
	}
	return strings.Join(call, "_")
}

// store stores the samples. Each run is a block.
func (s *randomSeries) store(t *testing.T, st store.Store) pv {
	t.Helper()
	p := newPV(s.PV, sample.Float64)
	p.meta = sample.Metadata{Type: sample.Float64, Count: 1}
	entry := store.Channel{PV: s.PV, Shards: []int{0}, Types: []sample.Type{sample.Float64}}
	var blocks []store.Block
	for i, r := range s.runs {
		bucket := store.Month.Of(r.Times[0])
		if !slices.Contains(entry.Starts, bucket) {
			entry.Starts = append(entry.Starts, bucket)
		}
		if !slices.Contains(entry.Types, r.Type) {
			entry.Types = append(entry.Types, r.Type)
		}
		blocks = append(blocks, store.Block{
			BlockKey: store.BlockKey{PV: s.PV, Bucket: bucket, Start: r.Times[0], Writer: store.WriterID{1}, N: uint32(i)},
			End:      r.Times[r.Len()-1], Count: r.Len(), Type: r.Type, Blob: block.Append(nil, r),
		})
	}
	err := st.AddChannel(t.Context(), entry)
	if err == nil {
		err = st.PutMetadata(t.Context(), store.PVMetadata{PV: s.PV, Time: newYear, Metadata: p.meta})
	}
	if err == nil && len(blocks) > 0 {
		err = st.PutBlocks(t.Context(), blocks...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// compared is the output of differential.py.
type compared struct {
	Calls          map[string]int `json:"calls"`
	Appliance      map[string]int `json:"appliance"`  // calls that need no departure
	Departures     map[string]int `json:"departures"` // calls on which each departure has an effect, up to 5
	Points         int            `json:"points"`
	Refused        int            `json:"refused"` // calls, for their types
	Doubtful       int            `json:"doubtful"`
	DoubtfulPoints int            `json:"doubtful points"`
	Differences    []string       `json:"differences"`
}

// TestPostProcessorsEqualTheAppliance compares the answers of all post-processors on random series with those of a
// reference that was written from the documentation of the Archiver Appliance: testdata/appliance_operators.py.
func TestPostProcessorsEqualTheAppliance(t *testing.T) { compareWithAppliance(t, 0, 12) }

// TestLong_PostProcessorsEqualTheAppliance does the same for more series. It also checks that each departure from the
// Appliance that the reference lists has an effect, so that the list has none that no longer exists.
func TestLong_PostProcessorsEqualTheAppliance(t *testing.T) {
	r := compareWithAppliance(t, 12, 150, "weigh")
	for departure, n := range r.Departures {
		if n == 0 {
			t.Errorf("the departure %q has no effect", departure)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Calls)) {
		t.Logf("%-22s %4d of %d answers equal the Appliance's without any departure", name, r.Appliance[name], r.Calls[name])
	}
}

// compareWithAppliance compares one series for each seed from first to last-1. weigh is nothing or "weigh", with
// which the result also has Appliance and Departures.
func compareWithAppliance(t *testing.T, first, last uint64, weigh ...string) *compared {
	t.Helper()
	st := openStore(t)
	var all []*randomSeries
	var pvs states
	for seed := first; seed < last; seed++ {
		s := newSeries(seed)
		all, pvs = append(all, s), append(pvs, s.store(t, st))
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "series.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var r compared
	args := []string{"testdata/differential.py", listen(t, handlerOver(t, st, pvs, time.Now)).String(), file}
	python(t, &r, append(args, weigh...)...)
	for _, d := range r.Differences[:min(len(r.Differences), 20)] {
		t.Error(d)
	}
	if len(r.Calls) != len(postProcessors) {
		t.Errorf("%d post-processors were compared, want %d", len(r.Calls), len(postProcessors))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Calls)) {
		t.Logf("%-22s %4d series compared", name, r.Calls[name])
	}
	t.Logf("%d points; rounding decides about %d of them and about %d calls; %d calls were refused; %d differences",
		r.Points, r.DoubtfulPoints, r.Doubtful, r.Refused, len(r.Differences))
	return &r
}
