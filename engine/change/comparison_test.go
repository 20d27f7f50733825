package change

import (
	"math"
	"testing"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
)

const minute = int64(60e9)

// compare returns the result for a window of an hour, with bins of two minutes of samples whose
// values a function of the minute has. NaN means that there is no sample.
func compare(of func(m int) float64) (float64, []Reason) {
	hour := 60 * minute
	c := New((History+1)*hour, (History+2)*hour)
	acc := rollup.NewAccumulator(2 * minute)
	r := &sample.Run{Type: sample.Float64}
	for m := range 60 * (History + 2) {
		if v := of(m); !math.IsNaN(v) {
			r.Append(&sample.Sample{Time: int64(m) * minute, Word: math.Float64bits(v)})
		}
	}
	bins := acc.Close(acc.Add(nil, r, 0, r.Len()), math.MaxInt64)
	for i := range bins { // bins without samples hold the value
		end := (History + 2) * hour
		if i+1 < len(bins) {
			end = bins[i+1].Start
		}
		for c.Add(&bins[i]); bins[i].End() < end; {
			bins[i] = bins[i].Next(bins[i].End(), bins[i].Width)
			c.Add(&bins[i])
		}
	}
	return c.Result()
}

const windowStart = 60 * (History + 1)

func inWindow(m int) bool { return m >= windowStart }

// TestWhatIsNormalScoresLow checks PVs that change as they always do.
func TestWhatIsNormalScoresLow(t *testing.T) {
	for name, of := range map[string]func(m int) float64{
		"a constant":                   func(int) float64 { return 7 },
		"a counter":                    func(m int) float64 { return float64(m) },
		"a wave of a day":              func(m int) float64 { return math.Sin(float64(m) / 1440 * 2 * math.Pi) },
		"a square wave of three hours": func(m int) float64 { return float64(m / 90 % 2) },
		"rounding of a constant":       func(m int) float64 { return 1e9 + 1e-6*float64(m%2) },
		"a sample that comes rarely": func(m int) float64 {
			if m%200 == 0 {
				return float64(m / 200 % 2)
			}
			return math.NaN()
		},
		"a PV without samples": func(int) float64 { return math.NaN() },
	} {
		if score, reasons := compare(of); score > 1.3 {
			t.Errorf("%s has the score %.2f: %+v", name, score, reasons)
		}
	}
}

// TestChangesHaveTheirReason checks the reason that is first, with its values.
func TestChangesHaveTheirReason(t *testing.T) {
	for name, c := range map[string]struct {
		of            func(m int) float64
		kind          Kind
		before, after float64
		least         float64
	}{
		"a step of a constant": {func(m int) float64 { return map[bool]float64{true: 8, false: 7}[inWindow(m)] }, Mean, 7, 8, 9},
		"a setpoint with one sample": {func(m int) float64 {
			if m == 0 || m == windowStart {
				return map[bool]float64{true: 8, false: 7}[inWindow(m)]
			}
			return math.NaN()
		}, Mean, 7, 8, 3},
		"a value that stands still": {func(m int) float64 { return map[bool]float64{true: 0.5, false: float64(m % 2)}[inWindow(m)] }, Spread, 0.5, 0, 4},
		"no samples": {func(m int) float64 {
			if inWindow(m) {
				return math.NaN()
			}
			return float64(m % 2)
		}, Rate, 1. / 60, 0, 2.3},
	} {
		score, reasons := compare(c.of)
		if len(reasons) == 0 || reasons[0].Kind != c.kind || score < c.least || score != reasons[0].Score ||
			math.Abs(reasons[0].Before-c.before) > 0.02 || math.Abs(reasons[0].After-c.after) > 0.02 {
			t.Errorf("%s has the score %.2f: %+v", name, score, reasons)
		}
	}
}

// TestAPVThatBegins checks a PV without values before, and one whose kind of values changes.
func TestAPVThatBegins(t *testing.T) {
	c := New(7*minute, 8*minute)
	c.Add(&rollup.Bin{Start: 7 * minute, Width: minute, Count: 60, Covered: minute, Kind: rollup.Number, Mean: 5})
	if score, reasons := c.Result(); score < 4 || reasons[0].Kind != Begun {
		t.Errorf("a PV that begins has the score %.2f: %+v", score, reasons)
	}
	c = New(7*minute, 8*minute)
	c.Add(&rollup.Bin{Start: 6 * minute, Width: minute, Count: 60, Covered: minute, Kind: rollup.Number, Mean: 5})
	c.Add(&rollup.Bin{Start: 7 * minute, Width: minute, Count: 60, Covered: minute, Kind: rollup.Text, Held: true, Text: "a"})
	if score, reasons := c.Result(); score < 4 || reasons[0].Kind != Type {
		t.Errorf("a PV that becomes a text has the score %.2f: %+v", score, reasons)
	}
}

// TestNewTexts checks texts that no window before had.
func TestNewTexts(t *testing.T) {
	texts := func(in string) *Comparison {
		c := New(7*minute, 8*minute)
		for i := range int64(8) {
			text := []string{"Ready", "Busy"}[i%2]
			if i == 7 {
				text = in
			}
			c.Add(&rollup.Bin{Start: i * minute, Width: minute, Count: 30, Covered: minute, Kind: rollup.Text, Held: true, Text: text})
		}
		return c
	}
	if score, reasons := texts("Fault").Result(); score < 4 || reasons[0].Kind != Text || reasons[0].Text != "Fault" || reasons[0].After != 1 {
		t.Errorf("a new text has the score %.2f: %+v", score, reasons)
	}
	if score, reasons := texts("Busy").Result(); score != 0 {
		t.Errorf("a known text has the score %.2f: %+v", score, reasons)
	}
}

// TestBinsThatStraddle checks that a bin that is not within one window counts for none, and that bins
// that reuse their states do no harm.
func TestBinsThatStraddle(t *testing.T) {
	c := New(7*minute, 8*minute)
	c.Add(&rollup.Bin{Start: 7*minute - 1, Width: minute, Count: 60, Covered: minute, Kind: rollup.Number, Mean: 5})
	c.Add(&rollup.Bin{Start: 9 * minute, Width: minute, Count: 60, Covered: minute, Kind: rollup.Number, Mean: 5})
	c.Add(&rollup.Bin{Start: -minute, Width: minute, Count: 60, Covered: minute, Kind: rollup.Number, Mean: 5})
	if score, reasons := c.Result(); score != 0 || !c.Quiet() {
		t.Errorf("the score is %.2f: %+v", score, reasons)
	}
	b := rollup.Bin{Start: 6 * minute, Width: minute, Count: 1, Covered: minute, Kind: rollup.Choice, States: []rollup.StateTime{{State: 1, Time: minute}}}
	c.Add(&b)
	b.Start, b.States[0].State = 7*minute, 2
	c.Add(&b)
	if _, reasons := c.Result(); len(reasons) != 1 || reasons[0].Kind != State || *reasons[0].State != 2 || reasons[0].After != 1 || reasons[0].Before != 0 {
		t.Errorf("the reasons are %+v", reasons)
	}
}
