package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/serve/value"
	"varve.dev/varve/engine/store"
)

// entry is the metadata that a PV had from a time on.
type entry struct {
	Since string `json:"since"`
	Type  string `json:"type,omitempty"`
	Count int    `json:"count,omitempty"`
	Host  string `json:"host,omitempty"`
	*metadata
}

func newEntry(m *store.PVMetadata) entry {
	e := entry{Since: clock(m.Time), Count: m.Count, Host: m.Host, metadata: newMetadata(&m.Metadata)}
	if m.Type.Valid() {
		e.Type = m.Type.String()
	}
	return e
}

// moments returns the parameters of a request for metadata: at, which is now if
// nothing is said, or from and to.
func moments(q url.Values, now time.Time) (from, to int64, err error) {
	if !q.Has("from") && !q.Has("to") {
		from, err = request.Time(q, "at", now.UnixNano())
		return from, from, err
	}
	if q.Has("at") {
		return 0, 0, errors.New("parameter at: it excludes from and to")
	}
	return request.Range(q, now)
}

// metadata answers the metadata that a PV had at a time, or over a range:
//
//	{"pv":…, "history":[{"since":…, "type":…, "count":…, "host":…, "units":…, …}, …]}
//
// The first entry is the one in force at the start.
func (h *Handler) metadata(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	pv := q.Get("pv")
	if pv == "" {
		answerError(w, http.StatusBadRequest, errors.New("the parameter pv is needed"))
		return
	}
	from, to, err := moments(q, h.Now())
	if err != nil {
		answerError(w, http.StatusBadRequest, err)
		return
	}
	known, err := h.Reader.Known(r.Context(), pv)
	if err == nil && !known {
		err = fmt.Errorf("reading metadata of %s: %w", pv, query.ErrUnknownPV)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	b := &body{w: w}
	b.buf = append(value.AppendString(append(b.buf, `{"pv":`...), pv), `,"history":[`...)
	n := 0
	for m, err := range h.Reader.MetadataHistory(r.Context(), pv, from, to) {
		if err == nil {
			err = b.entry(&m, n == 0)
			n++
		}
		if err != nil {
			h.finish(w, r, b, err)
			return
		}
	}
	b.buf = append(b.buf, "]}\n"...)
	h.finish(w, r, b, b.flush())
}

func (b *body) entry(m *store.PVMetadata, first bool) error {
	text, err := json.Marshal(newEntry(m))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	if !first {
		b.buf = append(b.buf, ',')
	}
	b.buf = append(append(b.buf, '\n'), text...)
	return b.spill()
}
