package appliance

import (
	"encoding/json"
	"net/http"

	"varve.dev/varve/engine/serve/stream"
)

// writeNames writes a JSON list of names while they are read, with the bytes that encoding/json would write.
func (h *Handler) writeNames(w http.ResponseWriter, r *http.Request, names pvList) {
	out := stream.New(w, "application/json")
	out.Buf = append(out.Buf, '[')
	some := false
	var failed error
	for name, err := range names {
		if failed = err; failed != nil {
			break
		}
		if some {
			out.Buf = append(out.Buf, ',')
		}
		some = true
		out.Buf = appendName(out.Buf, name)
		if failed = out.FlushFull(); failed != nil {
			break
		}
	}
	out.Buf = append(out.Buf, "]\n"...)
	out.Finish(r, h.Log, failed, func(err error) { h.failCall(w, r, err) })
}

// writeLines writes names while they are read, a name a line.
func (h *Handler) writeLines(w http.ResponseWriter, r *http.Request, names lines) {
	out := stream.New(w, "text/plain; charset=utf-8")
	var failed error
	for name, err := range names {
		if failed = err; failed != nil {
			break
		}
		out.Buf = append(append(out.Buf, name...), '\n')
		if failed = out.FlushFull(); failed != nil {
			break
		}
	}
	out.Finish(r, h.Log, failed, func(err error) { h.failCall(w, r, err) })
}

// appendName appends a name as encoding/json encodes it.
func appendName(b []byte, name string) []byte {
	for i := range len(name) {
		switch c := name[i]; {
		case c < ' ' || c >= 0x7f, c == '"', c == '\\', c == '<', c == '>', c == '&':
			text, err := json.Marshal(name)
			if err != nil {
				panic("BUG: " + err.Error())
			}
			return append(b, text...)
		}
	}
	return append(append(append(b, '"'), name...), '"')
}
