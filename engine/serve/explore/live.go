package explore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/admission"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/stream"
	"varve.dev/varve/engine/serve/value"
)

const (
	// maxLive is how many PVs are followed at a time, in all streams, and liveShare how many of them one
	// client may follow. A browser has up to six streams.
	maxLive   = 512
	liveShare = 256
	// interval is the time between two reads of a PV that is followed.
	interval = time.Second
	// lifetime is how long a stream lasts. Browsers connect again and continue where it ended.
	lifetime = time.Minute
)

// follow answers new samples of PVs as Server-Sent Events, until the client disconnects or the server
// stops:
//
//	event: samples   data: {"pv":"A","type":"float64","base":"1767225600000000000","offset":[0,…],"value":[…],"severity":[0,…]}
//	event: now       data: {"now":"1767225600000000000"}      after each read
//	event: reset     data: {"pv":"A"}                         too many samples: read the PV again
//	event: trouble   data: {"error":"…"}                      the last read failed; the next one follows
//
// Times are in ns since 1970, in decimal, and offsets in ns. The id of an event says which samples
// were sent: a browser that connects again misses none and gets none twice.
func (h *Handler) follow(w http.ResponseWriter, r *http.Request, q *openapi.Query) {
	tails, err := h.tails(r, q)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	client := admission.ClientOf(r.Context())
	if !h.live.Take(client, int64(len(tails))) {
		h.fail(w, r, fmt.Errorf("following PVs: at most %d PVs are followed at a time, and %d by one client: %w", maxLive, liveShare, admission.ErrFull))
		return
	}
	defer h.live.Give(client, int64(len(tails)))
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")         // a proxy must not hold events back,
	header.Set(gzhttp.HeaderNoCompression, "yes") // and neither must compression
	s := &liveStream{h: h, tails: tails, w: w, conn: http.NewResponseController(w)}
	ctx, cancel := context.WithTimeout(r.Context(), lifetime)
	defer cancel()
	s.run(ctx)
}

// tails returns what to follow.
func (h *Handler) tails(r *http.Request, q *openapi.Query) ([]*tail, error) {
	pvs, err := names(q)
	if err != nil {
		return nil, err
	}
	text := q.Get("cursor")
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		text = last
	}
	cursors, err := parseCursors(text, len(pvs), h.now().UnixNano())
	if err != nil {
		return nil, err
	}
	tails := make([]*tail, len(pvs))
	for i, pv := range pvs {
		known, err := h.reader.Known(r.Context(), pv)
		if err == nil && !known {
			err = query.ErrUnknownPV
		}
		if err != nil {
			return nil, h.explain(r.Context(), pv, err)
		}
		tails[i] = newTail(pv, cursors[i])
	}
	return tails, nil
}

// liveStream is one stream of events.
type liveStream struct {
	h     *Handler
	tails []*tail
	w     http.ResponseWriter
	conn  *http.ResponseController
	buf   []byte
}

// run sends events until ctx ends, the server stops, or the client does not take them.
func (s *liveStream) run(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	s.buf = append(s.buf, "retry: 1000\n\n"...)
	for {
		for _, t := range s.tails {
			if err := s.read(ctx, t); err != nil {
				if ctx.Err() != nil {
					return
				}
				s.event("trouble", `"error":`, err.Error())
			}
		}
		s.event("now", `"now":`, strconv.FormatInt(s.h.now().UnixNano(), 10))
		if _, err := s.w.Write(s.buf); err != nil {
			return
		}
		if err := s.conn.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return
		}
		s.buf = s.buf[:0]
		select {
		case <-ctx.Done():
			return
		case <-stream.Stopping(ctx):
			return
		case <-tick.C:
		}
	}
}

// read reads the new samples of a PV and appends their event.
func (s *liveStream) read(ctx context.Context, t *tail) error {
	leave, err := s.h.reads.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	n := len(s.buf)
	series, err := t.read(ctx, s.h.reader)
	switch {
	case errors.Is(err, errTooMany):
		t.skip(s.h.now().UnixNano())
		s.event("reset", `"pv":`, t.pv)
		return nil
	case err != nil:
		s.buf = s.buf[:n]
		return s.h.explain(ctx, t.pv, err)
	case len(series.times) > 0:
		s.samples(series)
	}
	return nil
}

// event appends an event with one field.
func (s *liveStream) event(name, field, text string) {
	s.begin(name)
	s.buf = value.AppendString(append(append(s.buf, '{'), field...), text)
	s.buf = append(s.buf, "}\n\n"...)
}

func (s *liveStream) begin(name string) {
	s.buf = append(append(append(s.buf, "event: "...), name...), "\nid: "...)
	for i, t := range s.tails {
		if i > 0 {
			s.buf = append(s.buf, ',')
		}
		s.buf = t.cursor.append(s.buf)
	}
	s.buf = append(s.buf, "\ndata: "...)
}

// samples appends an event with samples of one PV.
func (s *liveStream) samples(of *series) {
	s.begin("samples")
	s.buf = value.AppendString(append(s.buf, `{"pv":`...), of.PV)
	s.buf = fmt.Appendf(s.buf, `,"type":%q,"base":"%d","offset":[`, of.Type, of.times[0])
	for i, t := range of.times {
		s.buf = strconv.AppendInt(comma(s.buf, i), t-of.times[0], 10)
	}
	s.buf = append(s.buf, `],"value":[`...)
	for i := range of.times {
		s.buf = of.appendValue(comma(s.buf, i), i)
	}
	s.buf = append(s.buf, `],"severity":[`...)
	for i, v := range of.severity {
		s.buf = strconv.AppendUint(comma(s.buf, i), uint64(v), 10)
	}
	s.buf = append(s.buf, "]}\n\n"...)
}

func comma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

// cursor says which samples of a PV were sent: those before Time in ns since 1970, and Count samples
// at Time.
type cursor struct {
	Time  int64
	Count int
}

func (c cursor) append(dst []byte) []byte {
	return strconv.AppendInt(append(strconv.AppendInt(dst, c.Time, 10), ':'), int64(c.Count), 10)
}

// parseCursors parses the cursors of n PVs: TIME:COUNT,…. Without a text, all of them are now.
func parseCursors(text string, n int, now int64) ([]cursor, error) {
	list := make([]cursor, n)
	if text == "" {
		for i := range list {
			list[i].Time = now
		}
		return list, nil
	}
	parts := strings.Split(text, ",")
	if len(parts) != n {
		return nil, badRequest{fmt.Errorf("parameter cursor: it has %d parts; there must be one for each of %d PVs", len(parts), n)}
	}
	for i, p := range parts {
		at, count, _ := strings.Cut(p, ":")
		t, err := strconv.ParseInt(at, 10, 64)
		c, err2 := strconv.ParseUint(count, 10, 31)
		if err != nil || err2 != nil || t < query.Earliest || t > query.Latest {
			return nil, badRequest{fmt.Errorf("parameter cursor: %.100q is not TIME:COUNT, with the time in ns since 1970, such as 1767225600000000000:1", p)}
		}
		list[i] = cursor{t, int(c)}
	}
	return list, nil
}
