package appliance

import (
	"encoding/binary"
	"iter"
	"math"
	"testing"

	"varve.dev/varve/engine/postprocess"
	"varve.dev/varve/engine/sample"
)

// rawOf returns the answer to getData.raw for a post-processor of a PV with the given runs.
func rawOf(t *testing.T, text string, to int64, runs ...*sample.Run) []pbChunk {
	t.Helper()
	op, err := postprocess.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s := &series{name: "PV", from: newYear, typ: sample.Int16, count: 1, runs: func(yield func(*sample.Run, error) bool) {
		for _, r := range runs {
			if !yield(r, nil) {
				return
			}
		}
	}}
	s.runs = op.Apply(s.runs, newYear, to)
	s.reduceTo(op)
	return parse(t, encodeAll(t, s))
}

// encodeAll encodes a PV run by run, as an answer does.
func encodeAll(t *testing.T, s *series) []byte {
	t.Helper()
	e := &rawEncoder{}
	dst, opened := e.begin(nil), false
	next, stop := iter.Pull2(s.runs)
	defer stop()
	for r, err, more := next(); more; r, err, more = next() {
		if err != nil {
			t.Fatal(err)
		}
		if !opened {
			dst, opened = e.open(dst, s, r), true
		}
		dst = e.samples(dst, r)
	}
	if !opened {
		dst = e.open(dst, s, nil)
	}
	return e.end(dst)
}

// float returns number k of a value of PB/HTTP.
func float(s *pbSample, k int) float64 {
	if f := s.vals[0]; f.wire == 2 {
		return math.Float64frombits(binary.LittleEndian.Uint64(f.b[8*k:]))
	}
	return math.Float64frombits(s.vals[0].v)
}

// TestRawTypesOfPostProcessors checks that the payload info has the type of the result, also
// in an answer without samples.
func TestRawTypesOfPostProcessors(t *testing.T) {
	shorts := &sample.Run{Type: sample.Int16}
	for i := range uint64(6) {
		shorts.Append(&sample.Sample{Time: newYear + int64(i)*1e9, Tag: sample.MakeTag(sample.Severity(i/2), 3), Word: 2 * i})
	}
	for _, c := range []struct {
		op                  string
		typ, count, samples int
	}{
		{"mean_3", pbDouble, 1, 2},
		{"stats_3", pbDouble + pbArrays, 5, 2},
		{"optimized_2", pbDouble + pbArrays, 5, 3}, // bins of 2 s
		{"optimLastSample_2", pbDouble + pbArrays, 6, 3},
		{"optimized_6", pbShort, 1, 6},
		{"errorbar_3", pbDouble, 1, 2},
		{"caplotbinning_3", pbDouble, 1, 8},
		{"ncount", pbInt, 1, 1},
		{"lastFill_3", pbShort, 1, 2},
		{"firstSample_3", pbShort, 1, 2},
		{"nth_4", pbShort, 1, 2},
		{"ignoreflyers_3", pbShort, 1, 6},
		{"deadBand_2", pbShort, 1, 3}, // two of them because of their severity
	} {
		got := rawOf(t, c.op, newYear+5e9, shorts)
		if len(got) != 1 || got[0].typ != c.typ || got[0].count != c.count || len(got[0].samples) != c.samples || got[0].pv != "PV" {
			t.Errorf("%s returns %+v, want type %d with %d elements and %d samples", c.op, got, c.typ, c.count, c.samples)
		}
		if empty := rawOf(t, c.op, newYear+5e9); c.op[:5] != "optim" && (empty[0].typ != c.typ || empty[0].count != c.count) {
			t.Errorf("%s without samples returns %+v", c.op, empty)
		}
	}
}

// TestRawBinsAcrossYears checks that a bin is in the chunk of the year that contains the bin's
// middle.
func TestRawBinsAcrossYears(t *testing.T) {
	got := rawOf(t, "mean_10", newYear+25e9, floats(newYear-12e9, 1), floats(newYear+1e9, 2, 4))
	if len(got) != 2 || got[0].year != 2025 || got[1].year != 2026 || len(got[0].samples) != 1 || len(got[1].samples) != 3 {
		t.Fatalf("got %+v", got)
	}
	if s := &got[1].samples[0]; s.time != newYear+5e9 || float(s, 0) != 3 || s.severity != 0 {
		t.Errorf("got %+v", s)
	}
}

// TestRawErrorbarHasAField checks that every sample of errorbar has the standard deviation as
// a field.
func TestRawErrorbarHasAField(t *testing.T) {
	var values []float64
	for i := range 20000 {
		values = append(values, float64(i/2)+float64(i%2)*2)
	}
	got := rawOf(t, "errorbar_2", newYear+19999e9, floats(newYear, values...))
	if len(got) != 1 || len(got[0].samples) != 10000 {
		t.Fatalf("the answer has %d chunks", len(got))
	}
	for i := range got[0].samples {
		s := &got[0].samples[i]
		if float(s, 0) != float64(i)+1 || s.fields["stdz"] != number(math.Sqrt2) {
			t.Fatalf("sample %d is %+v", i, s)
		}
	}
}
