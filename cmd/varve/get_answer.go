package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"varve.dev/varve/engine/sample"
)

// apiSample and the other types are JSON types of /api/v1.
type apiSample struct {
	Time             time.Time
	Value            json.RawMessage
	Severity, Status string
	// typ is the type of the sample's run.
	typ string
}

type apiMetadata struct {
	Units  string
	Labels []string
}

// label returns the state that a value of an enumeration names, or "".
func (m *apiMetadata) label(typ string, v json.RawMessage) string {
	i, err := strconv.Atoi(string(v))
	if m == nil || typ != sample.Enum.String() || err != nil || i < 0 || i >= len(m.Labels) {
		return ""
	}
	return m.Labels[i]
}

// describe returns a value for people: with the name of its state if it has one.
func (m *apiMetadata) describe(typ string, v json.RawMessage) string {
	if label := m.label(typ, v); label != "" {
		return fmt.Sprintf("%s (%s)", label, v)
	}
	return text(v)
}

type apiMark struct {
	Time, End          time.Time
	Kind, Reason, Text string
	Count              uint64
}

func (m apiMark) String() string {
	s := m.Kind
	switch {
	case m.Count > 0:
		s += fmt.Sprintf(" %d samples (%s)", m.Count, m.Reason)
	case m.Reason != "":
		s += fmt.Sprintf(" an unknown number of samples (%s)", m.Reason)
	}
	if !m.End.IsZero() {
		s += " until " + m.End.Local().Format(clockLayout)
	}
	if m.Text != "" {
		s += " " + m.Text
	}
	return s
}

// apiNoData says why a PV has no data at the end of a time range.
type apiNoData struct {
	Cause, Text string
	Since       time.Time
}

// reason returns the text of the cause, or its name if it has none.
func (d apiNoData) reason() string {
	if d.Text == "" {
		return d.Cause
	}
	return d.Text
}

func (d apiNoData) String() string {
	since := ""
	if !d.Since.IsZero() {
		since = " since " + d.Since.Local().Format(clockLayout)
	}
	return fmt.Sprintf("no data%s: %s: %s", since, d.Cause, d.Text)
}

// clockLayout is the form of times for people. It has the offset of the zone, because a range may
// contain a change of daylight saving time.
const clockLayout = "2006-01-02 15:04:05.000000000Z07:00"

// text returns a value without the quotes of a string.
func text(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil && !bytes.Equal(v, []byte("null")) {
		return s
	}
	return string(v)
}

// seriesHead is what an answer says about a PV before its samples.
type seriesHead struct{ metadata *apiMetadata }

// readSamples reads an answer of /api/v1/samples as it arrives. It calls begin before the
// samples, also if there are none, and f for each sample. It returns why the PV has no data at the
// end of the range, or nil.
func readSamples(r io.Reader, begin func(*seriesHead) error, f func(*apiSample) error) (absent *apiNoData, err error) {
	dec := json.NewDecoder(r)
	var head seriesHead
	err = eachMember(dec, func(name string) error {
		switch name {
		case "metadata":
			return dec.Decode(&head.metadata)
		case "runs":
			if err := begin(&head); err != nil {
				return err
			}
			return eachElement(dec, func() error { return readRun(dec, f) })
		case "noData":
			return dec.Decode(&absent)
		}
		return skip(dec)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	return absent, nil
}

func readRun(dec *json.Decoder, f func(*apiSample) error) error {
	typ := ""
	return eachMember(dec, func(name string) error {
		switch name {
		case "type":
			return dec.Decode(&typ)
		case "samples":
			return eachElement(dec, func() error {
				s := apiSample{typ: typ}
				if err := dec.Decode(&s); err != nil {
					return err
				}
				return f(&s)
			})
		}
		return skip(dec)
	})
}

// eachMember calls f for each member of the object that follows. f reads its value.
func eachMember(dec *json.Decoder, f func(name string) error) error {
	if err := expectDelim(dec, '{'); err != nil {
		return err
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := tok.(string) // the decoder checks that it is one
		if err := f(name); err != nil {
			return err
		}
	}
	return expectDelim(dec, '}')
}

// eachElement calls f for each element of the array that follows. f reads it.
func eachElement(dec *json.Decoder, f func() error) error {
	if err := expectDelim(dec, '['); err != nil {
		return err
	}
	for dec.More() {
		if err := f(); err != nil {
			return err
		}
	}
	return expectDelim(dec, ']')
}

func expectDelim(dec *json.Decoder, want json.Delim) error {
	tok, err := dec.Token()
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	if err == nil && tok != want {
		return fmt.Errorf("%v instead of %v", tok, want)
	}
	return err
}

func skip(dec *json.Decoder) error {
	var ignored json.RawMessage
	return dec.Decode(&ignored)
}

// applianceSample is a sample in getData.json of the Archiver Appliance's API.
type applianceSample struct {
	Secs, Nanos      int64
	Val              json.RawMessage
	Severity, Status uint16
	Fields           struct{ Stdz json.RawMessage }
}

// readProcessed reads the result of a post-processor, which is an answer of getData.json, as
// readSamples reads one of /api/v1/samples.
func readProcessed(r io.Reader, begin func(*seriesHead) error, f func(*apiSample) error) error {
	dec := json.NewDecoder(r)
	begun := false
	err := eachElement(dec, func() error {
		return eachMember(dec, func(name string) error {
			switch name {
			case "meta":
				var meta struct{ EGU string }
				if err := dec.Decode(&meta); err != nil {
					return err
				}
				begun = true
				return begin(&seriesHead{&apiMetadata{Units: meta.EGU}})
			case "data":
				return eachElement(dec, func() error {
					var s applianceSample
					if err := dec.Decode(&s); err != nil {
						return err
					}
					return f(s.native())
				})
			}
			return skip(dec)
		})
	})
	if err == nil && !begun {
		err = begin(&seriesHead{})
	}
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	return nil
}

// native returns the sample as /api/v1 writes it. A mean with a standard deviation becomes an
// array of both.
func (s *applianceSample) native() *apiSample {
	tag := sample.MakeTag(sample.Severity(s.Severity), s.Status)
	v := finite(s.Val)
	if s.Fields.Stdz != nil {
		v = fmt.Appendf(nil, "[%s,%s]", v, text(s.Fields.Stdz))
	}
	return &apiSample{
		Time: time.Unix(s.Secs, s.Nanos).UTC(), Value: v,
		Severity: tag.Severity().String(), Status: tag.StatusName(),
	}
}

// finite writes NaN and infinities as /api/v1 does. The Archiver Appliance's API writes null, and
// numbers that are too large.
func finite(v json.RawMessage) json.RawMessage {
	if string(v) == "null" {
		return json.RawMessage(`"NaN"`)
	}
	if f, _ := strconv.ParseFloat(string(v), 64); math.IsInf(f, 0) {
		return json.RawMessage(map[bool]string{true: `"-Infinity"`, false: `"Infinity"`}[f < 0])
	}
	return v
}
