package csvfile

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve.dev/varve/engine/sample"
)

// maxValue is the size in bytes of the largest value.
const maxValue = 16 << 20

var errLarge = fmt.Errorf("the value has more than %d MiB", maxValue>>20)

// parseValue sets the value of a sample from a cell.
func (f *Format) parseValue(s *sample.Sample, t sample.Type, text string) (err error) {
	switch {
	case t == sample.String:
		s.Bytes = []byte(text)
	case t == sample.String.Array():
		s.Bytes, err = parseTexts(text)
	case t.IsArray():
		s.Bytes, err = f.parseArray(t, text)
	default:
		s.Word, err = f.parseWord(t, strings.TrimSpace(text))
	}
	if err == nil && len(s.Bytes) > maxValue {
		return errLarge
	}
	return err
}

// parseTexts returns the value of a list of strings in JSON.
func parseTexts(text string) ([]byte, error) {
	var elems []string
	if err := json.Unmarshal([]byte(text), &elems); err != nil || elems == nil {
		return nil, fmt.Errorf("%.60q is not a list of strings in JSON, such as [\"a\",\"b\"]", text)
	}
	return sample.AppendStrings(nil, elems...), nil
}

// parseArray returns the value of numbers in brackets, with commas or spaces between them.
func (f *Format) parseArray(t sample.Type, text string) (out []byte, err error) {
	inside, opened := strings.CutPrefix(strings.TrimSpace(text), "[")
	inside, closed := strings.CutSuffix(inside, "]")
	if !opened || !closed {
		return nil, fmt.Errorf("%.60q is not an array such as [1, 2, 3]", text)
	}
	size := t.ElemSize()
	if !strings.Contains(inside, ",") {
		inside = strings.Join(strings.Fields(inside), ",")
	}
	if strings.TrimSpace(inside) == "" {
		return nil, nil
	}
	for elem := range strings.SplitSeq(inside, ",") {
		word, err := f.parseWord(t.Elem(), strings.TrimSpace(elem))
		if err != nil {
			return nil, err
		}
		if len(out)+size > maxValue {
			return nil, errLarge
		}
		out = binary.LittleEndian.AppendUint64(out, word)[:len(out)+size]
	}
	return out, nil
}

// parseWord returns a number, a truth value or a state as sample.Sample has it.
func (f *Format) parseWord(t sample.Type, text string) (word uint64, err error) {
	switch t {
	case sample.Float64, sample.Float32:
		bits := 64
		if t == sample.Float32 {
			bits = 32
		}
		var v float64
		if v, err = strconv.ParseFloat(text, bits); bits == 32 {
			word = uint64(math.Float32bits(float32(v)))
		} else {
			word = math.Float64bits(v)
		}
	case sample.Bool:
		var v bool
		if v, err = strconv.ParseBool(text); v {
			word = 1
		}
	case sample.Enum:
		return f.parseState(text)
	case sample.Uint8, sample.Uint16, sample.Uint32, sample.Uint64:
		word, err = strconv.ParseUint(text, 10, 8*t.ElemSize())
	default:
		var v int64
		v, err = strconv.ParseInt(text, 10, 8*t.ElemSize())
		word = uint64(v)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("the value %.60q is too large for the type %v", text, t)
	case err != nil:
		return 0, fmt.Errorf("the value %.60q is not of the type %v", text, t)
	}
	return word, nil
}

// parseState returns the number of a state of an enumeration, which a cell has as a number or as a label.
func (f *Format) parseState(text string) (uint64, error) {
	if i := slices.Index(f.Labels, text); i >= 0 {
		return uint64(i), nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("the state %.60q is neither a number from 0 to 65535 nor one of the labels %.200q", text, f.Labels)
	}
	return n, nil
}
