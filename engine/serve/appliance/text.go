package appliance

import (
	"bytes"
	"strconv"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/value"
)

// csvEncoder writes .csv, with the columns secs,val,severity,status,nanos and without a header
// line. It quotes a value that contains a comma, a quote or a line break, as in RFC 4180.
type csvEncoder struct{}

func (csvEncoder) contentType() string                              { return "text/csv" }
func (csvEncoder) begin(dst []byte) []byte                          { return dst }
func (csvEncoder) end(dst []byte) []byte                            { return dst }
func (csvEncoder) open(dst []byte, _ *series, _ *sample.Run) []byte { return dst }
func (csvEncoder) samples(dst []byte, r *sample.Run) []byte {
	for i := range r.Len() {
		secs, nanos := split(r.Times[i])
		dst = strconv.AppendInt(dst, secs, 10)
		dst = append(dst, ',')
		from := len(dst)
		dst = appendPlain(dst, r, i)
		dst = quoteFrom(dst, from)
		dst = appendTail(dst, ',', r.Tags[i], nanos)
	}
	return dst
}

// quoteFrom quotes the text in dst from a position on, if it needs quoting.
func quoteFrom(dst []byte, from int) []byte {
	if !bytes.ContainsAny(dst[from:], ",\"\r\n") {
		return dst
	}
	text := bytes.ReplaceAll(dst[from:], []byte(`"`), []byte(`""`))
	dst = append(dst[:from], '"')
	dst = append(dst, text...)
	return append(dst, '"')
}

// txtEncoder writes .txt, a format for people.
type txtEncoder struct{}

func (txtEncoder) contentType() string     { return "text/plain; charset=utf-8" }
func (txtEncoder) begin(dst []byte) []byte { return dst }
func (txtEncoder) end(dst []byte) []byte   { return dst }

func (txtEncoder) open(dst []byte, s *series, _ *sample.Run) []byte {
	dst = append(dst, "Beginning data for "...)
	return append(append(dst, s.name...), '\n')
}

func (txtEncoder) samples(dst []byte, r *sample.Run) []byte {
	for i := range r.Len() {
		_, nanos := split(r.Times[i])
		dst = time.Unix(0, r.Times[i]).UTC().AppendFormat(dst, "Jan/02/2006 15:04:05 MST")
		dst = append(dst, '\t')
		dst = appendPlain(dst, r, i)
		dst = appendTail(dst, '\t', r.Tags[i], nanos)
	}
	return dst
}

// appendPlain appends a value as text. Strings have no quotes.
func appendPlain(dst []byte, r *sample.Run, i int) []byte {
	if r.Type == sample.String {
		return append(dst, r.Value(i)...)
	}
	return value.Text.Append(dst, r, i)
}

// appendTail appends severity, status and nanoseconds, and ends the line.
func appendTail(dst []byte, sep byte, tag sample.Tag, nanos int64) []byte {
	dst = strconv.AppendUint(append(dst, sep), uint64(tag.Severity()), 10)
	dst = strconv.AppendUint(append(dst, sep), uint64(tag.Status()), 10)
	dst = strconv.AppendInt(append(dst, sep), nanos, 10)
	return append(dst, '\n')
}
