package explore

import (
	"math"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
)

// maxText is the number of bytes of a text in an answer. Longer ones are cut.
const maxText = rollup.MaxText

// series is what is known of a PV in a range: its samples, or bins of them.
type series struct {
	PV string `json:"pv"`
	// Mode is "samples" or "bins", and Kind is "number", "enum", "text" or "other".
	Mode string `json:"mode"`
	Kind string `json:"kind"`
	Type string `json:"type,omitempty"`
	// Metadata is what holds at the end of the range.
	Metadata      *metadata `json:"metadata,omitempty"`
	CompleteUntil string    `json:"completeUntil,omitempty"`
	// Lost is the number of samples that are left out because their blocks are damaged.
	Lost uint64 `json:"lost,omitempty"`

	width     int64 // of a bin, in ns
	times     []int64
	spans     []int64 // widths of the bins, in ns
	severity  []uint8
	value     []float64 // of samples
	min, max  []float64
	mean      []float64
	last      []float64
	count     []float64
	covered   []float64
	texts     []string
	withTexts bool
}

var kindNames = map[rollup.Kind]string{rollup.Number: "number", rollup.Choice: "enum", rollup.Text: "text", rollup.Other: "other"}

// metadata is the JSON form of a PV's metadata. It leaves out limits that the PV does not have.
type metadata struct {
	Units     string             `json:"units,omitempty"`
	Precision int                `json:"precision"`
	Labels    []string           `json:"labels,omitempty"`
	Limits    map[string]float64 `json:"limits,omitempty"`
	// Description is the property DESC.
	Description string `json:"description,omitempty"`
}

func newMetadata(m *sample.Metadata) *metadata {
	out := &metadata{Units: m.Units, Precision: m.Precision, Labels: m.Labels, Limits: map[string]float64{}}
	for name, v := range map[string]float64{
		"displayLow": m.DisplayLow, "displayHigh": m.DisplayHigh, "warnLow": m.WarnLow, "warnHigh": m.WarnHigh,
		"alarmLow": m.AlarmLow, "alarmHigh": m.AlarmHigh,
	} {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out.Limits[name] = v
		}
	}
	for _, p := range m.Properties {
		if p.Name == "DESC" {
			out.Description = p.Value
		}
	}
	return out
}

// addRun adds samples.
func (s *series) addRun(r *sample.Run) {
	kind := rollup.KindOf(r.Type)
	s.Kind, s.Type = kindNames[kind], r.Type.String()
	for i, t := range r.Times {
		v, text := math.NaN(), ""
		switch kind {
		case rollup.Number, rollup.Choice:
			v = r.Float(i)
		case rollup.Text:
			text = cut(r.Value(i))
		}
		if rollup.Undefined(r.Tags[i]) {
			v = math.NaN()
		}
		s.times = append(s.times, t)
		s.value = append(s.value, v)
		s.texts = append(s.texts, text)
		s.withTexts = s.withTexts || kind == rollup.Text
		s.severity = append(s.severity, uint8(r.Tags[i].Severity()))
	}
}

// addBin adds a bin.
func (s *series) addBin(b *rollup.Bin) {
	s.Kind = kindNames[b.Kind]
	low, high, mean := b.Min, b.Max, b.Mean
	if b.Kind == rollup.Choice {
		low, high = extremes(b)
	}
	s.times = append(s.times, b.Start)
	s.spans = append(s.spans, b.Width)
	s.min, s.max, s.mean, s.last = append(s.min, low), append(s.max, high), append(s.mean, mean), append(s.last, last(b))
	s.count = append(s.count, float64(b.Count))
	s.covered = append(s.covered, float64(b.Covered)/float64(b.Width))
	s.severity = append(s.severity, uint8(b.Severity))
	s.texts = append(s.texts, cut([]byte(b.Text)))
	s.withTexts = s.withTexts || b.Kind == rollup.Text
}

// last returns the last value in a bin, or NaN if it has none.
func last(b *rollup.Bin) float64 {
	if b.Held && (b.Kind == rollup.Number || b.Kind == rollup.Choice) {
		return b.Last
	}
	return math.NaN()
}

// extremes returns the smallest and the largest state in a bin of an enumeration.
func extremes(b *rollup.Bin) (low, high float64) {
	low, high = math.NaN(), math.NaN()
	for _, st := range b.States {
		v := float64(st.State)
		if !(low <= v) {
			low = v
		}
		if !(high >= v) {
			high = v
		}
	}
	return low, high
}

// cut returns the beginning of a text.
func cut(b []byte) string { return string(b[:min(len(b), maxText)]) }
