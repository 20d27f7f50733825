package capture

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"varve.dev/varve/engine/sample"
)

// maxPropertyBytes limits the value of a property, and its text.
const maxPropertyBytes = 1024

// text returns a value as text for users: the label of a state, or the elements of an
// array separated by spaces.
func text(t sample.Type, s *sample.Sample, labels []string) string {
	switch {
	case t == sample.String:
		return clean(s.Bytes)
	case t.Fixed():
		return element(t, s.Word, labels)
	case t == sample.String.Array():
		return strings.Join(sample.Strings(s.Bytes), " ")
	case t.ElemSize() > 0:
		var b strings.Builder
		for i := range len(s.Bytes) / t.ElemSize() {
			next := element(t.Elem(), sample.Word(t, s.Bytes, i), labels)
			if b.Len()+1+len(next) > maxPropertyBytes {
				break
			}
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(next)
		}
		return b.String()
	}
	return t.String()
}

// clean returns text without a last rune that is cut off.
func clean(b []byte) string {
	for i := 0; i < utf8.UTFMax && !utf8.Valid(b) && len(b) == maxPropertyBytes-i; i++ {
		b = b[:len(b)-1]
	}
	return string(b)
}

// element returns the text of a scalar.
func element(t sample.Type, word uint64, labels []string) string {
	switch t {
	case sample.Enum:
		if word < uint64(len(labels)) {
			return labels[word]
		}
		return strconv.FormatUint(word, 10)
	case sample.Float64:
		return strconv.FormatFloat(sample.Float(t, word), 'g', -1, 64)
	case sample.Float32:
		return strconv.FormatFloat(sample.Float(t, word), 'g', -1, 32)
	case sample.Uint64:
		return strconv.FormatUint(word, 10)
	case sample.Bool:
		return strconv.FormatBool(word != 0)
	}
	return strconv.FormatInt(int64(word), 10)
}
