package table

import (
	"io"
	"strconv"

	"varve.dev/varve/engine/serve/value"
)

// jsonEncoder writes {"notes":{…},"columns":[{"name":…,"type":…,"unit":…,"labels":[…]},…],"rows":[[…],…],"after":{…}}.
// The notes in after are those that were not known before the first row.
type jsonEncoder struct {
	out   io.Writer
	buf   []byte
	some  bool // there are rows
	after []Note

	times  clock
	floats *value.Memo
}

func newJSON(out io.Writer, s *Schema) (*jsonEncoder, error) {
	e := &jsonEncoder{out: out, floats: value.NewMemo(&value.Quoted)}
	e.buf = append(appendNotes(append(e.buf, `{"notes":`...), s.Notes), `,"columns":[`...)
	for i, c := range s.Columns {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.buf = value.AppendString(append(e.buf, `{"name":`...), c.Name)
		e.buf = value.AppendString(append(e.buf, `,"type":`...), c.Type.String())
		if c.Unit != "" {
			e.buf = value.AppendString(append(e.buf, `,"unit":`...), c.Unit)
		}
		if len(c.Labels) > 0 {
			e.buf = append(append(e.buf, `,"labels":`...), labelList(c.Labels)...)
		}
		e.buf = append(e.buf, '}')
	}
	e.buf = append(e.buf, `],"rows":[`...)
	return e, e.send()
}

func appendNotes(dst []byte, notes []Note) []byte {
	dst = append(dst, '{')
	for i, n := range notes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value.AppendString(append(value.AppendString(dst, n.Key), ':'), n.Value)
	}
	return append(dst, '}')
}

func (e *jsonEncoder) write(b *Batch) error {
	for i := range b.Rows() {
		if e.some {
			e.buf = append(e.buf, ',')
		}
		e.some = true
		e.buf = append(e.buf, "\n["...)
		for c := range b.Columns {
			if c > 0 {
				e.buf = append(e.buf, ',')
			}
			e.buf = e.appendValue(e.buf, &b.Columns[c], i)
		}
		e.buf = append(e.buf, ']')
	}
	return e.send()
}

func (e *jsonEncoder) appendValue(dst []byte, v *Vector, i int) []byte {
	if v.null(i) {
		return append(dst, "null"...)
	}
	switch v.column.Type {
	case Time:
		return append(e.times.append(append(dst, '"'), v.Ints[i]), '"')
	case Int:
		return strconv.AppendInt(dst, v.Ints[i], 10)
	case Uint:
		return strconv.AppendUint(dst, uint64(v.Ints[i]), 10)
	case Float:
		return e.floats.Float(dst, v.Floats[i])
	case Floats:
		return appendList(dst, v.list(i))
	}
	return value.AppendString(dst, v.text(i))
}

func appendList(dst []byte, list []float64) []byte {
	dst = append(dst, '[')
	for i, f := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value.Quoted.Float(dst, f, 64)
	}
	return append(dst, ']')
}

func (e *jsonEncoder) send() error {
	_, err := e.out.Write(e.buf)
	e.buf = e.buf[:0]
	return err
}

func (e *jsonEncoder) note(n Note) { e.after = append(e.after, n) }

func (e *jsonEncoder) end() error {
	e.buf = append(e.buf, ']')
	if len(e.after) > 0 {
		e.buf = appendNotes(append(e.buf, `,"after":`...), e.after)
	}
	e.buf = append(e.buf, "}\n"...)
	return e.send()
}
