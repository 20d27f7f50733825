package postprocess

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
)

const second = int64(1e9)

// base is 2026-01-01T00:00:00Z, at which a bin of 10 s begins.
var base = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// point is a sample at some seconds after base.
type point struct {
	at  float64
	v   float64
	sev sample.Severity
}

func runOf(t sample.Type, points ...point) *sample.Run {
	r := &sample.Run{Type: t}
	for _, p := range points {
		s := sample.Sample{Time: base + int64(p.at*1e9), Tag: sample.MakeTag(p.sev, 7)}
		switch {
		case t == sample.Float64:
			s.Word = math.Float64bits(p.v)
		case t == sample.Float64.Array():
			s.Bytes = binary.LittleEndian.AppendUint64(nil, math.Float64bits(p.v))
			s.Bytes = append(s.Bytes, make([]byte, 16)...)
		case t.Fixed():
			s.Word = uint64(int64(p.v))
		default:
			s.Bytes = fmt.Append(nil, p.v)
		}
		r.Append(&s)
	}
	return r
}

func seq(runs ...*sample.Run) iter.Seq2[*sample.Run, error] {
	return func(yield func(*sample.Run, error) bool) {
		for _, r := range runs {
			if r.Len() > 0 && !yield(r, nil) {
				return
			}
		}
	}
}

func parse(t testing.TB, text string) *Func {
	t.Helper()
	f, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// show formats a result as seconds after base, values, and severities other than
// NO_ALARM.
func show(t testing.TB, result iter.Seq2[*sample.Run, error]) string {
	t.Helper()
	var all []string
	for r, err := range result {
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Len() {
			text := fmt.Sprintf("%g:%s", float64(r.Times[i]-base)/1e9, showValue(r, i))
			if sev := r.Tags[i].Severity(); sev != sample.NoAlarm {
				text += "/" + sev.String()[:3]
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, " ")
}

func showValue(r *sample.Run, i int) string {
	switch {
	case r.Type == sample.Float64.Array():
		var all []string
		for k := range len(r.Value(i)) / 8 {
			all = append(all, fmt.Sprintf("%.6g", math.Float64frombits(sample.Word(r.Type, r.Value(i), k))))
		}
		return "[" + strings.Join(all, ",") + "]"
	case r.Type.Fixed():
		return fmt.Sprintf("%.6g", r.Float(i))
	}
	return string(r.Value(i))
}

// golden has a sample before the range, a bin of four samples, an empty bin, a bin with
// NaN and a number, and another empty bin.
var golden = []point{
	{-3, 5, sample.Minor},
	{1, 1, 0}, {2, 2, 0}, {4.5, 3, sample.Major}, {8, 6, 0},
	{21, math.NaN(), sample.Invalid}, {22.25, 10, 0},
}

const to = 39

// goldens are results computed by hand. The bin at 5 s has the mean 3 and the deviations
// -2, -1, 0, 3.
var goldens = []struct{ op, want string }{
	{"mean_10", "-5:5/MIN 5:3/MAJ 15:3/MAJ 25:10/INV 35:10/INV"},
	{"meanSample_10", "-5:5/MIN 5:3/MAJ 25:10/INV"},
	{"min_10", "-5:5/MIN 5:1/MAJ 15:1/MAJ 25:10/INV 35:10/INV"},
	{"max_10", "-5:5/MIN 5:6/MAJ 15:6/MAJ 25:10/INV 35:10/INV"},
	{"count_10", "-5:1/MIN 5:4/MAJ 15:0 25:1/INV 35:0"},
	{"countSample_10", "-5:1/MIN 5:4/MAJ 25:1/INV"},
	{"median_10", "-5:5/MIN 5:2.5/MAJ 15:2.5/MAJ 25:10/INV 35:10/INV"},
	{"std_10", "-5:0/MIN 5:2.16025/MAJ 15:2.16025/MAJ 25:0/INV 35:0/INV"},      // √(14/3)
	{"variance_10", "-5:0/MIN 5:4.66667/MAJ 15:4.66667/MAJ 25:0/INV 35:0/INV"}, // 14/3
	{"popvariance_10", "-5:0/MIN 5:3.5/MAJ 15:3.5/MAJ 25:0/INV 35:0/INV"},      // 14/4
	{"rms_10", "-5:5/MIN 5:3.53553/MAJ 15:3.53553/MAJ 25:10/INV 35:10/INV"},    // √(50/4)
	{"jitter_10", "-5:0/MIN 5:0.720082/MAJ 15:0.720082/MAJ 25:0/INV 35:0/INV"}, // √(14/3)/3
	{"kurtosisSample_10", "-5:NaN/MIN 5:1.5/MAJ 25:NaN/INV"},                   // 20/6·98/(14/3)² - 27/2
	{"skewnessSample_10", "-5:NaN/MIN 5:1.19034/MAJ 25:NaN/INV"},               // 4/6·18/(14/3)^1.5
	{"linear_10", "-5:5/MIN 5:3.42857/MAJ 15:3.42857/MAJ 25:10/INV 35:10/INV"}, // 3 + 3·0.5/3.5
	{"loess_10", "-5:5/MIN 5:1/MAJ 15:1/MAJ 25:10/INV 35:10/INV"},              // too few: the first
	{"errorbarSample_10", "-5:[5,0]/MIN 5:[3,2.16025]/MAJ 25:[10,0]/INV"},      // mean, std
	{"statsSample_10", "-5:[5,0,5,5,1]/MIN 5:[3,2.16025,1,6,4]/MAJ 25:[10,0,10,10,1]/INV"},
	{"stats_20", "-10:[5,0,5,5,1]/MIN 10:[3,2.16025,1,6,4]/MAJ 30:[10,0,10,10,1]/INV"},
	{"firstSample_10", "-3:5/MIN 1:1 21:NaN/INV"},
	{"lastSample_10", "-3:5/MIN 8:6 22.25:10"},
	{"firstFill_10", "-5:5/MIN 5:1 15:1 25:NaN/INV 35:NaN/INV"},
	{"lastFill_10", "-5:5/MIN 5:6 15:6 25:10 35:10"},
	{"nth_3", "1:1 8:6"},
	{"ncount", "0:6"},
	{"ncount_600", "0:6"},
	{"deadBand_1", "-3:5/MIN 1:1 4.5:3/MAJ 8:6 21:NaN/INV 22.25:10"},
	{"deadBand_100", "-3:5/MIN 1:1 4.5:3/MAJ 8:6 21:NaN/INV 22.25:10"},
	{"flyers_10_1", "8:6"}, // |6-3| > 2.16
	{"ignoreflyers_10_1", "-3:5/MIN 1:1 2:2 4.5:3/MAJ 22.25:10"},
	{"ignoreflyers_10", "-3:5/MIN 1:1 2:2 4.5:3/MAJ 8:6 22.25:10"},
	{"caplotbinning_10", "-3:5/MIN 0:1/MAJ 2.5:1/MAJ 5:6/MAJ 7.5:6/MAJ 21:NaN/INV 22.25:10/INV"},
	{"optimized_7", "-3:5/MIN 1:1 2:2 4.5:3/MAJ 8:6 21:NaN/INV 22.25:10"},
	// 39 s by 3 are 13 s; 2026-01-01 begins 10 s into such a bin.
	{"optimized_3", "-16.5:[5,0,5,5,1]/MIN -3.5:[1.5,0.707107,1,2,2] 9.5:[4.5,2.12132,3,6,2]/MAJ 22.5:[10,0,10,10,1]/INV 35.5:[10,0,10,10,1]/INV"},
	{"optimLastSample_3", "-16.5:[5,0,5,5,1,5]/MIN -3.5:[1.5,0.707107,1,2,2,2] 9.5:[4.5,2.12132,3,6,2,6]/MAJ 22.5:[10,0,10,10,1,10]/INV 35.5:[10,0,10,10,0,10]/INV"},
}

func TestGolden(t *testing.T) {
	for _, c := range goldens {
		f := parse(t, c.op)
		points := golden
		if f.Inside() {
			points = golden[1:]
		}
		got := show(t, f.Apply(seq(runOf(sample.Float64, points...)), base, base+to*second))
		if got != c.want {
			t.Errorf("%s gives\n%s, want\n%s", c.op, got, c.want)
		}
	}
}

func TestGoldenIsComplete(t *testing.T) {
	for _, name := range names {
		if !slices.ContainsFunc(goldens, func(c struct{ op, want string }) bool { return strings.HasPrefix(c.op, name) }) {
			t.Errorf("%s has no value computed by hand", name)
		}
	}
}

// TestRangeWithoutSamplesRepeatsTheOneBeforeIt checks that all bins repeat the sample before
// the range if the range has no samples.
func TestRangeWithoutSamplesRepeatsTheOneBeforeIt(t *testing.T) {
	before := runOf(sample.Float64, point{-100, 5, 0})
	for op, want := range map[string]string{
		"mean_10": "-5:5 5:5 15:5", "count_10": "-5:1 5:0 15:0", "meanSample_10": "-5:5", "lastFill_10": "-5:5 5:5 15:5", "firstSample_10": "-100:5",
		"caplotbinning_10": "-100:5", "optimized_10": "-100:5", "flyers_10": "", "ignoreflyers_10": "-100:5", "deadBand": "-100:5",
	} {
		if got := show(t, parse(t, op).Apply(seq(before), base, base+10*second)); got != want {
			t.Errorf("%s gives %q, want %q", op, got, want)
		}
	}
	for _, name := range names {
		want := ""
		if name == "ncount" {
			want = "0:0"
		}
		if got := show(t, parse(t, name).Apply(seq(), base, base+10*second)); got != want {
			t.Errorf("%s without samples gives %q, want %q", name, got, want)
		}
	}
}

// TestDeadBandAfterGaps checks that deadBand yields the first sample after a gap, and no more.
func TestDeadBandAfterGaps(t *testing.T) {
	r := runOf(sample.Float64, point{1, 5, 0}, point{2, 5, 0}, point{4, 5, 0}, point{5, 5, 0}, point{9, 5, 0})
	f := parse(t, "deadBand_1")
	for range 2 { // the post-processor has no state
		got := show(t, f.Breaking([]int64{base, base + 3*second, base + 6*second, base + 8*second, base + 20*second}).Apply(seq(r), base, base+to*second))
		if want := "1:5 4:5 9:5"; got != want {
			t.Errorf("deadBand after gaps gives %q, want %q", got, want)
		}
	}
	if got := show(t, f.Apply(seq(r), base, base+to*second)); got != "1:5" {
		t.Errorf("deadBand without gaps gives %q", got)
	}
}

// TestBinOfNaNIsNotEmpty checks that a bin with only NaN is not empty: it has a severity, and
// a count of 0.
func TestBinOfNaNIsNotEmpty(t *testing.T) {
	r := runOf(sample.Float64, point{1, math.NaN(), sample.Invalid}, point{2, math.NaN(), 0}, point{3, math.NaN(), 0})
	for op, want := range map[string]string{
		"mean_10": "5:NaN/INV", "max_10": "5:NaN/INV", "std_10": "5:NaN/INV", "rms_10": "5:NaN/INV", "median_10": "5:NaN/INV", "loess_10": "5:NaN/INV",
		"linear_10": "5:NaN/INV", "count_10": "5:0/INV", "stats_10": "5:[NaN,NaN,NaN,NaN,0]/INV", "popvariance_10": "5:NaN/INV", "ncount": "0:3",
		"caplotbinning_10": "0:NaN/INV 2.5:NaN/INV 5:NaN/INV 7.5:NaN/INV", "flyers_10": "", "ignoreflyers_10": "",
	} {
		if got := show(t, parse(t, op).Apply(seq(r), base, base+9*second)); got != want {
			t.Errorf("%s gives %q, want %q", op, got, want)
		}
	}
}

// TestBinsBefore1970 checks that the bin of a sample is its seconds divided by the width,
// rounded down, also before 1970.
func TestBinsBefore1970(t *testing.T) {
	r := &sample.Run{Type: sample.Int64}
	for i := int64(-15); i <= 15; i += 5 {
		r.Append(&sample.Sample{Time: i * second, Word: uint64(i)})
	}
	var got []string
	for run, err := range parse(t, "count_10").Apply(seq(r), -15*second, 15*second) {
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range run.Times {
			got = append(got, fmt.Sprint(at/second, ":", run.Float(i)))
		}
	}
	if want := []string{"-15:1", "-5:2", "5:2", "15:2"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestTypesOfValues checks that enumerations count as numbers, and arrays as their first
// element. If the type of a PV changed, post-processors that need numbers skip strings, and
// the others count them.
func TestTypesOfValues(t *testing.T) {
	points := []point{{1, 1, 0}, {2, 3, 0}}
	for _, typ := range []sample.Type{sample.Enum, sample.Int16, sample.Uint64, sample.Bool, sample.Float64.Array()} {
		if got := show(t, parse(t, "mean_10").Apply(seq(runOf(typ, points...)), base, base)); got != "5:2" {
			t.Errorf("mean of %s is %s", typ, got)
		}
	}
	texts := runOf(sample.String, point{11, 7, sample.Minor}, point{12, 7, 0})
	for op, want := range map[string]string{
		"mean_10": "5:2 15:2", "count_10": "5:2 15:2/MIN", "ncount": "0:4", "lastSample_10": "2:3 12:7", "lastFill_10": "5:3 15:7",
		"firstSample_10": "1:1 11:7/MIN", "nth_2": "1:1 11:7/MIN", "optimized_4": "1:1 2:3 11:7/MIN 12:7",
	} {
		if got := show(t, parse(t, op).Apply(seq(runOf(sample.Float64, points...), texts), base, base+15*second)); got != want {
			t.Errorf("%s gives %q, want %q", op, got, want)
		}
	}
}

func TestAccepts(t *testing.T) {
	for _, c := range []struct {
		op   string
		typ  sample.Type
		says string
	}{
		{"mean_60", sample.Float64, ""},
		{"mean_60", sample.Unknown, ""},
		{"mean_60", sample.Enum, ""},
		{"mean_60", sample.Int8.Array(), ""},
		{"mean_60", sample.String, "post-processor mean_60 needs numbers; values of type string are not numbers"},
		{"deadBand", sample.String.Array(), "needs numbers; values of type string[] are not numbers"},
		{"loess", sample.Struct, "needs numbers; values of type struct are not numbers"},
		{"optimized", sample.Enum, ""},
		{"optimized_800", sample.Float64.Array(), "post-processor optimized_800 needs scalars; values of type float64[] are arrays"},
		{"count", sample.String, ""},
		{"ncount", sample.Struct, ""},
		{"nth_2", sample.String.Array(), ""},
		{"lastFill", sample.Float64.Array(), ""},
	} {
		err := parse(t, c.op).Accepts(c.typ)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s of %s: %v", c.op, c.typ, err)
		}
	}
}

// TestTypeAndCountMatchTheResult checks that Type and Count return the type and the number of
// elements of the yielded samples.
func TestTypeAndCountMatchTheResult(t *testing.T) {
	for _, name := range names {
		f := parse(t, name)
		for _, in := range []sample.Type{sample.Int32, sample.Float64} {
			r := runOf(in, point{1, 1, 0})
			for run, err := range f.Apply(seq(r), base, base+second) {
				if err != nil || run.Type != f.Type(in) {
					t.Errorf("%s of %s yields %s, and Type returns %s: %v", name, in, run.Type, f.Type(in), err)
				}
				if n := len(run.Bytes) / 8; run.Type.IsArray() && n != f.Count(1)*run.Len() {
					t.Errorf("%s yields %d elements, and Count returns %d", name, n, f.Count(1))
				}
			}
		}
	}
}

var errTest = errors.New("the disk is gone")

// TestStoreErrorEndsTheResult checks that an error of the store ends the result and reaches
// the caller.
func TestStoreErrorEndsTheResult(t *testing.T) {
	broken := func(yield func(*sample.Run, error) bool) {
		_ = yield(runOf(sample.Float64, golden...), nil) && yield(nil, errTest)
	}
	for _, name := range names {
		var last error
		for _, err := range parse(t, name).Apply(broken, base, base+to*second) {
			last = err
		}
		if !errors.Is(last, errTest) {
			t.Errorf("%s ends with %v", name, last)
		}
	}
}

// TestTooMuchForOneBinIsRefused checks that a post-processor ends with ErrBound when a bin
// needs too much memory.
func TestTooMuchForOneBinIsRefused(t *testing.T) {
	tooMuchForOneBin(t, "median", "flyers")
	if err := parse(t, "mean_1").Check(0, 200_000_000*second); !errors.Is(err, ErrBound) {
		t.Errorf("200 million bins: %v", err)
	}
	for _, op := range []string{"mean_60", "meanSample_1", "lastSample_1", "optimized_10"} {
		if err := parse(t, op).Check(0, 200_000_000*second); err != nil {
			t.Error(err)
		}
	}
}

// TestLong_TooMuchForOneBinIsRefused tests all post-processors that hold the samples of a bin.
func TestLong_TooMuchForOneBinIsRefused(t *testing.T) {
	tooMuchForOneBin(t, "median", "loess", "flyers", "ignoreflyers")
}

// tooMuchForOneBin gives each post-processor more samples of one bin than it may hold.
func tooMuchForOneBin(t *testing.T, ops ...string) {
	t.Helper()
	long := func(yield func(*sample.Run, error) bool) {
		r := runOf(sample.Float64, slices.Repeat([]point{{1, 1, 0}}, 4096)...)
		for range (maxHeld/8)/4096 + 2 {
			if !yield(r, nil) {
				return
			}
		}
	}
	for _, op := range ops {
		var last error
		for _, err := range parse(t, op).Apply(long, base, base+to*second) {
			last = err
		}
		if !errors.Is(last, ErrBound) || !strings.Contains(last.Error(), "post-processor "+op) {
			t.Errorf("%s ends with %v", op, last)
		}
	}
}
