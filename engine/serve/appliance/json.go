package appliance

import (
	"strconv"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/value"
)

// jsonEncoder writes .json, one sample a line:
//
//	[{"meta":{"name":"SR01:PRES","EGU":"mbar","PREC":"2"},
//	"data":[
//	{"secs":1767225600,"val":1.5,"nanos":25,"severity":0,"status":0},
//	…]}]
//
// jsonEncoder also writes .qw, in which a sample has only "millis" and "val". It leaves out
// PVs without samples. The first sample after a change of metadata also has "fields".
type jsonEncoder struct {
	quick  bool
	series *series
	opened bool // a PV is open
	some   bool // the PV has samples
	events events
}

func (*jsonEncoder) contentType() string       { return "application/json" }
func (e *jsonEncoder) begin(dst []byte) []byte { return append(dst, '[') }

func (e *jsonEncoder) end(dst []byte) []byte {
	if e.opened {
		dst = append(dst, "\n]}"...)
	}
	return append(dst, "]\n"...)
}

func (e *jsonEncoder) open(dst []byte, s *series, first *sample.Run) []byte {
	if first == nil {
		return dst
	}
	if e.opened {
		dst = append(dst, "\n]},\n"...)
	}
	e.series, e.opened, e.some = s, true, false
	dst = append(dst, `{"meta":{"name":`...)
	dst = value.AppendString(dst, s.name)
	if e.quick {
		dst = append(dst, `,"waveform":`...)
		dst = strconv.AppendBool(dst, first.Type.IsArray())
	}
	for _, h := range s.headers {
		if h.val == "" {
			continue
		}
		dst = append(dst, ',')
		dst = value.AppendString(dst, h.name)
		dst = append(dst, ':')
		dst = value.AppendString(dst, h.val)
	}
	return append(dst, "},\n\"data\":["...)
}

func (e *jsonEncoder) samples(dst []byte, r *sample.Run) []byte {
	for i := range r.Len() {
		if e.some {
			dst = append(dst, ',')
		}
		dst = append(dst, '\n')
		e.some = true
		if e.quick {
			dst = e.events.appendQuick(dst, r, i)
		} else {
			dst = e.events.append(dst, r, i)
		}
		if fields := e.series.fieldsOf(r, i); len(fields) > 0 {
			dst = appendFields(append(dst, `,"fields":{`...), fields)
			dst = append(dst, '}')
		}
		dst = append(dst, '}')
	}
	return dst
}

// appendFields appends fields as members of an object.
func appendFields(dst []byte, fields []header) []byte {
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value.AppendString(dst, f.name)
		dst = append(dst, ':')
		dst = value.AppendString(dst, f.val)
	}
	return dst
}

// events appends samples as objects. It remembers texts that often repeat. The zero value is ready
// for use.
type events struct {
	values *value.Memo
	tag    sample.Tag // whose alarm is in alarm
	alarm  []byte
}

// append begins the object of a sample.
func (e *events) append(dst []byte, r *sample.Run, i int) []byte {
	secs, nanos := split(r.Times[i])
	dst = append(dst, `{"secs":`...)
	dst = strconv.AppendInt(dst, secs, 10)
	dst = e.appendValue(dst, r, i)
	dst = append(dst, `,"nanos":`...)
	dst = strconv.AppendInt(dst, nanos, 10)
	if tag := r.Tags[i]; e.alarm == nil || tag != e.tag {
		e.tag = tag
		e.alarm = strconv.AppendUint(append(e.alarm[:0], `,"severity":`...), uint64(tag.Severity()), 10)
		e.alarm = strconv.AppendUint(append(e.alarm, `,"status":`...), uint64(tag.Status()), 10)
	}
	return append(dst, e.alarm...)
}

// appendQuick begins the object of a sample in .qw.
func (e *events) appendQuick(dst []byte, r *sample.Run, i int) []byte {
	secs, nanos := split(r.Times[i])
	dst = append(dst, `{"millis":`...)
	dst = strconv.AppendInt(dst, secs*1000+nanos/1e6, 10)
	return e.appendValue(dst, r, i)
}

func (e *events) appendValue(dst []byte, r *sample.Run, i int) []byte {
	if e.values == nil {
		e.values = value.NewMemo(&value.Numbers)
	}
	return e.values.Append(append(dst, `,"val":`...), r, i)
}
