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

// entry is the metadata of a PV from a time on.
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

// moments parses the times of a request for metadata: the parameters from and to, or at,
// whose default is now.
func moments(q url.Values, now time.Time) (from, to int64, err error) {
	if !q.Has("from") && !q.Has("to") {
		from, err = request.Time(q, "at", now.UnixNano())
		return from, from, err
	}
	if q.Has("at") {
		return 0, 0, errors.New("parameter at: it cannot be combined with from and to")
	}
	return request.Range(q, now)
}

// metadata answers the metadata of a PV at a time, or over a range:
//
//	{"pv":…, "history":[{"since":…, "type":…, "count":…, "host":…, "units":…, …}, …]}
//
// The first entry is the one that is valid at the start of the range.
func (h *Handler) metadata(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	pv := q.Get("pv")
	if pv == "" {
		answerError(w, http.StatusBadRequest, errors.New("parameter pv: the name of a PV is required"))
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
	b := newBody(w)
	b.Buf = append(value.AppendString(append(b.Buf, `{"pv":`...), pv), `,"history":[`...)
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
	b.Buf = append(b.Buf, ']')
	h.finish(w, r, b, nil)
}

func (b *body) entry(m *store.PVMetadata, first bool) error {
	text, err := json.Marshal(newEntry(m))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	if !first {
		b.Buf = append(b.Buf, ',')
	}
	b.Buf = append(append(b.Buf, '\n'), text...)
	return b.FlushFull()
}
