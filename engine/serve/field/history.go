package field

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Bounds of a history: entries that are read, and bytes of samples that they give.
const (
	maxEntries = 100_000
	maxBytes   = 16 << 20
)

// fieldName is the form of the name of a field, as ArchiveGroups have it in properties.
var fieldName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,31}$`)

// split splits a canonical name into a PV and a field of it.
func split(name string) (pv, field string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 1 || !fieldName.MatchString(name[i+1:]) {
		return "", "", false
	}
	return name[:i], name[i+1:], true
}

// limits are the fields of a record that are stored as limits, with their index in sample.Metadata.Limits.
var limits = map[string]int{"LOPR": 0, "HOPR": 1, "LOW": 2, "HIGH": 3, "LOLO": 4, "HIHI": 5, "DRVL": 6, "DRVH": 7}

// states are the fields of a record that are stored as names of states, with their index in sample.Metadata.Labels: those
// of mbbi and mbbo, and ZNAM and ONAM of bi and bo.
var states = map[string]int{
	"ZNAM": 0, "ONAM": 1,
	"ZRST": 0, "ONST": 1, "TWST": 2, "THST": 3, "FRST": 4, "FVST": 5, "SXST": 6, "SVST": 7,
	"EIST": 8, "NIST": 9, "TEST": 10, "ELST": 11, "TVST": 12, "TTST": 13, "FTST": 14, "FFST": 15,
}

// history is the history of a field.
type history struct {
	pv, field string
	// run has a sample for each change of the value. A sample is undefined (UDF) where the PV lacked the field.
	run *sample.Run
}

// udf is the alarm status UDF, as EPICS numbers it.
const udf = 17

// undefined is the tag of a sample without a value.
var undefined = sample.MakeTag(sample.Invalid, udf)

// readHistory reads the history of a field. It returns nil if the PV never had the field.
func readHistory(ctx context.Context, st store.Store, pv, field string) (*history, error) {
	var numbers, texts column
	entries := 0
	for m, err := range st.Metadata(ctx, pv, query.Earliest, query.Latest) {
		if err != nil {
			return nil, err
		}
		if entries++; entries > maxEntries || numbers.bytes+texts.bytes > maxBytes {
			return nil, fmt.Errorf("the metadata of %s changed too often to read all of %s; read shorter ranges with /api/v1/metadata", pv, field)
		}
		numbers.add(m.Time, numberOf(&m.Metadata, field))
		texts.add(m.Time, textOf(&m.Metadata, field))
	}
	c := &numbers
	if !c.defined {
		c = &texts
	}
	if !c.defined {
		return nil, nil
	}
	return &history{pv, field, c.run(isText(field))}, nil
}

// numberOf returns a limit or the precision as text, or "" if the PV has none.
func numberOf(m *sample.Metadata, field string) string {
	if field == "PREC" && (m.Type.Elem() == sample.Float64 || m.Type.Elem() == sample.Float32) {
		return strconv.Itoa(m.Precision)
	}
	i, is := limits[field]
	if l := m.Limits(); is && !math.IsNaN(l[i]) {
		return strconv.FormatFloat(l[i], 'g', -1, 64)
	}
	return ""
}

// binary reports whether a field belongs only to records with two states, which are bi and bo.
func binary(field string) bool { return field == "ZNAM" || field == "ONAM" }

// isText reports whether a field is a text even if it looks like a number.
func isText(field string) bool {
	_, is := states[field]
	return is || field == "EGU"
}

// textOf returns the units, the name of a state or a property, or "" if the PV has none.
func textOf(m *sample.Metadata, field string) string {
	if field == "EGU" {
		return m.Units
	}
	if i, is := states[field]; is && i < len(m.Labels) && (len(m.Labels) <= 2 || !binary(field)) {
		return m.Labels[i]
	}
	for _, p := range m.Properties {
		if p.Name == field {
			return p.Value
		}
	}
	return ""
}

// column has the changes of a value, from the first value on. An empty text means that there is no value.
type column struct {
	times   []int64
	texts   []string
	bytes   int
	defined bool
}

func (c *column) add(at int64, text string) {
	if text == "" && !c.defined || c.defined && text == c.texts[len(c.texts)-1] {
		return
	}
	c.defined = true
	c.times, c.texts, c.bytes = append(c.times, at), append(c.texts, text), c.bytes+len(text)+32
}

// run returns the values as samples: doubles if each value is a number and the field is not a text, and otherwise strings.
func (c *column) run(text bool) *sample.Run {
	numbers := make([]float64, len(c.texts))
	r := &sample.Run{Type: sample.Float64}
	for i, value := range c.texts {
		var ok bool
		if numbers[i], ok = parse(value); text || !ok {
			r.Type = sample.String
			break
		}
	}
	for i, value := range c.texts {
		s := sample.Sample{Time: c.times[i], Word: math.Float64bits(numbers[i]), Bytes: []byte(value)}
		if value == "" {
			s.Tag = undefined
		}
		r.Append(&s)
	}
	return r
}

// decimal is the form of numbers that IOCs write. strconv.ParseFloat accepts more.
var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// parse returns a value as a number. No value is NaN.
func parse(text string) (float64, bool) {
	if text == "" {
		return math.NaN(), true
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && (decimal.MatchString(text) || strings.HasSuffix(text, "Inf"))
}

// metadata returns the metadata of a field, given that of its PV.
func (h *history) metadata(m *store.PVMetadata, name string) store.PVMetadata {
	nan := math.NaN()
	of := sample.Metadata{Type: h.run.Type, Count: 1, Host: m.Host}
	of.SetLimits([8]float64{nan, nan, nan, nan, nan, nan, nan, nan})
	if _, is := limits[h.field]; is && h.run.Type == sample.Float64 {
		of.Units, of.Precision = m.Units, m.Precision
	}
	return store.PVMetadata{PV: name, Time: m.Time, Metadata: of}
}
