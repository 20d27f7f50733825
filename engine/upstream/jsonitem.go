package upstream

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"varve.dev/varve/engine/sample"
)

// maxItem is the maximum size of an item in bytes: an array of 16 MiB may need four times as much as text.
const maxItem = 64 << 20

// items reads the items of an answer one by one, each within a bound.
//
//	[ {"time":…,"severity":{…},"status":…,"quality":…,"metaData":{…},"type":"double","value":[…]}, … ]
type items struct {
	in    bounded
	d     *json.Decoder
	begun bool
}

// bounded reads at most left bytes, of max at the beginning of an item.
type bounded struct {
	io.Reader
	left, max int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("an item has more than %d bytes", b.max)
	}
	n, err := b.Reader.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// newItems returns a reader of items of at most some bytes.
func newItems(in io.Reader, most int) *items {
	i := &items{in: bounded{in, most, most}}
	i.d = json.NewDecoder(&i.in)
	return i
}

// item is an item of an answer.
type item struct {
	Time     *int64 `json:"time"` // ns since 1970
	Severity struct {
		Level    string `json:"level"`
		HasValue *bool  `json:"hasValue"`
	} `json:"severity"`
	Status   string          `json:"status"`
	Quality  string          `json:"quality"`
	Type     string          `json:"type"`
	Value    json.RawMessage `json:"value"`
	MetaData *struct {
		States      []string `json:"states"`
		Units       string   `json:"units"`
		Precision   int      `json:"precision"`
		DisplayLow  number   `json:"displayLow"`
		DisplayHigh number   `json:"displayHigh"`
		WarnLow     number   `json:"warnLow"`
		WarnHigh    number   `json:"warnHigh"`
		AlarmLow    number   `json:"alarmLow"`
		AlarmHigh   number   `json:"alarmHigh"`
	} `json:"metaData"`
}

// next returns the next item, or io.EOF after the end of the list.
func (i *items) next() (*item, error) {
	if !i.begun {
		if t, err := i.d.Token(); err != nil || t != json.Delim('[') {
			return nil, errors.Join(errors.New("the answer is not a list in JSON"), notEOF(err))
		}
		i.begun = true
	}
	i.in.left = i.in.max
	if !i.d.More() {
		if _, err := i.d.Token(); err != nil {
			return nil, fmt.Errorf("the end of the list is missing: %w", notEOF(err))
		}
		return nil, io.EOF
	}
	it := &item{}
	if err := i.d.Decode(it); err != nil {
		return nil, fmt.Errorf("reading an item at byte %d: %w", i.d.InputOffset(), notEOF(err))
	}
	if it.Time == nil || it.Severity.HasValue == nil {
		return nil, fmt.Errorf("the item before byte %d has no time or no severity with hasValue", i.d.InputOffset())
	}
	return it, nil
}

// interpolated is the quality of values that the server has computed.
const interpolated = "Interpolated"

var levels = map[string]sample.Severity{"OK": sample.NoAlarm, "MINOR": sample.Minor, "MAJOR": sample.Major, "INVALID": sample.Invalid}

// sample returns the sample of an item. The type is Unknown if the item has no stored value. A status that is not one of EPICS
// is left out.
func (it *item) sample() (s sample.Sample, typ sample.Type, err error) {
	if !*it.Severity.HasValue || it.Quality == interpolated && it.Type != statistics {
		return s, sample.Unknown, nil
	}
	severity, found := levels[it.Severity.Level]
	if !found {
		return s, typ, it.wrong("the severity is %.50q, not OK, MINOR, MAJOR or INVALID", it.Severity.Level)
	}
	status, _ := sample.ParseStatus(it.Status)
	s = sample.Sample{Time: *it.Time, Tag: sample.MakeTag(severity, status)}
	typ, err = it.value(&s, maxValue)
	if err != nil {
		err = it.wrong("%w", err)
	}
	return s, typ, err
}

func (it *item) wrong(format string, args ...any) error {
	return fmt.Errorf("the item of the time %s: %w", instant(*it.Time), fmt.Errorf(format, args...))
}

// statistics is the type of items that summarize samples, which a server sends only if it is asked for a count.
const statistics = "minMaxDouble"

// maxValue is the maximum size of an array in bytes, as in files of an Appliance.
const maxValue = 16 << 20

// value sets the value of a sample: that of a scalar if there is one element, or else an array of at most some bytes.
func (it *item) value(s *sample.Sample, most int) (sample.Type, error) {
	parse := map[string]element{
		"double": {sample.Float64, doubleWord}, "long": {sample.Int64, longWord}, "enum": {sample.Enum, enumWord}, "string": {typ: sample.String},
	}[it.Type]
	switch {
	case it.Type == statistics:
		return sample.Unknown, errors.New("the server sent statistics of samples instead of samples")
	case parse.typ == sample.Unknown:
		return sample.Unknown, fmt.Errorf("the type %.50q is not double, long, enum or string", it.Type)
	}
	d := json.NewDecoder(bytes.NewReader(it.Value))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return sample.Unknown, errors.New("the value is not a list")
	}
	var first sample.Sample
	n := 0
	for ; d.More(); n++ {
		t, err := d.Token()
		if err == nil {
			err = parse.add(s, t)
		}
		if err != nil {
			return sample.Unknown, err
		}
		if n == 0 {
			first.Word, first.Bytes = s.Word, s.Bytes
		}
		if len(s.Bytes) > most {
			return sample.Unknown, fmt.Errorf("the value has more than %d bytes", most)
		}
	}
	if n != 1 {
		s.Word = 0
		return parse.typ.Array(), nil
	}
	s.Bytes = nil
	if s.Word = first.Word; parse.typ == sample.String {
		s.Bytes = []byte(sample.Strings(first.Bytes)[0])
	}
	return parse.typ, nil
}

// element is a type, and the function that parses an element of it. It is nil for texts.
type element struct {
	typ  sample.Type
	word func(text string) (uint64, error)
}

// add appends an element to the array of a sample, and sets the word of the sample to it.
func (e *element) add(s *sample.Sample, t json.Token) (err error) {
	text, quoted := t.(string)
	n, _ := t.(json.Number)
	switch {
	case e.word == nil && quoted:
		s.Bytes = sample.AppendStrings(s.Bytes, text)
		return nil
	case e.word == nil:
		return fmt.Errorf("the value %.50q is not a text", fmt.Sprint(t))
	case !quoted:
		text = n.String()
	}
	if s.Word, err = e.word(text); err != nil {
		return err
	}
	if e.typ == sample.Enum {
		s.Bytes = binary.LittleEndian.AppendUint16(s.Bytes, uint16(s.Word))
	} else {
		s.Bytes = binary.LittleEndian.AppendUint64(s.Bytes, s.Word)
	}
	return nil
}

func doubleWord(text string) (uint64, error) {
	v, err := strconv.ParseFloat(text, 64) // also NaN and Infinity, which are texts in JSON
	if err != nil {
		return 0, fmt.Errorf("%.50q is not a number", text)
	}
	return math.Float64bits(v), nil
}

func longWord(text string) (uint64, error) {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.50q is not an integer of 64 bits", text)
	}
	return uint64(v), nil
}

func enumWord(text string) (uint64, error) {
	v, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%.50q is not the number of a state", text)
	}
	return v, nil
}
