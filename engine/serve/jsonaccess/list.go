package jsonaccess

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"

	"varve.dev/varve/engine/serve/stream"
)

// list encodes a JSON list, one element a line, while it is sent to the client. The caller
// appends each element to Buf, between beginItem and endItem.
type list struct {
	*stream.Answer
	pretty bool
	some   bool // the list has an element
	start  int  // of the element in Buf
}

// newList returns an empty list. The parameter prettyPrint makes it easier to read.
func newList(w http.ResponseWriter, q url.Values) *list {
	l := &list{Answer: stream.New(w, "application/json"), pretty: q.Has(prettyPrint)}
	l.Buf = append(l.Buf, '[')
	return l
}

func (l *list) beginItem() {
	if l.some {
		l.Buf = append(l.Buf, ',')
	}
	l.Buf = append(l.Buf, '\n')
	l.some, l.start = true, len(l.Buf)
}

// endItem ends an element, and sends the buffer if it is full.
func (l *list) endItem() error {
	if l.pretty {
		var text bytes.Buffer
		if err := json.Indent(&text, l.Buf[l.start:], "", "  "); err != nil {
			panic("BUG: " + err.Error())
		}
		l.Buf = append(l.Buf[:l.start], text.Bytes()...)
	}
	return l.FlushFull()
}

func (l *list) close() {
	if l.some {
		l.Buf = append(l.Buf, '\n')
	}
	l.Buf = append(l.Buf, "]\n"...)
}
