package appliance

import (
	"strconv"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/value"
)

// jplotEncoder writes .jplot, the series of the JavaScript library flot, with times in ms since
// 1970:
//
//	[{"label":"SR01:PRES","data":[[1767225600000,1.5],…]},…]
type jplotEncoder struct {
	opened bool // a PV is open
	some   bool // the PV has samples
}

func (*jplotEncoder) contentType() string     { return "application/json" }
func (*jplotEncoder) begin(dst []byte) []byte { return append(dst, '[') }

func (e *jplotEncoder) end(dst []byte) []byte {
	if e.opened {
		dst = append(dst, "]}"...)
	}
	return append(dst, "]\n"...)
}

func (e *jplotEncoder) open(dst []byte, s *series, _ *sample.Run) []byte {
	if e.opened {
		dst = append(dst, "]},\n"...)
	}
	e.opened, e.some = true, false
	dst = value.AppendString(append(dst, `{"label":`...), s.name)
	return append(dst, `,"data":[`...)
}

func (e *jplotEncoder) samples(dst []byte, r *sample.Run) []byte {
	for i, t := range r.Times {
		if e.some {
			dst = append(dst, ',')
		}
		e.some = true
		secs, nanos := split(t)
		dst = strconv.AppendInt(append(dst, '['), secs*1000+nanos/1e6, 10)
		dst = value.Numbers.Append(append(dst, ','), r, i)
		dst = append(dst, ']')
	}
	return dst
}
