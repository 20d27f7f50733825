package appliance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/admission"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/serve/stream"
	"varve.dev/varve/engine/serve/value"
)

// maxAtTime is the maximum number of PVs in a request of getDataAtTime.
const maxAtTime = 10_000

// atQuery is a request of getDataAtTime: the last sample of each PV from after until at, in ns since
// 1970.
type atQuery struct {
	pvs       []string // as in the request, each once
	after, at int64
}

var atParameters = request.Known{
	Once: []string{"at", "searchPeriod"}, Repeated: []string{"pv"}, Ignored: []string{"includeProxies"},
}

// dataAtTime answers the samples that PVs had at a time:
//
//	{"SR01:PRES":{"secs":…,"nanos":…,"val":…,"severity":…,"status":…,"meta":{"DBRType":…}},…}
//
// It leaves out PVs without a sample, and those whose sample is in a damaged block. It reads several PVs at a time, and holds only their samples.
func (h *Handler) dataAtTime(w http.ResponseWriter, r *http.Request) {
	q, err := parseAtTime(r, h.Now())
	if err != nil {
		badRequest(w, err)
		return
	}
	// It reads several PVs at a time, a block of each.
	leave, err := h.Reads.EnterHolding(r.Context(), int64(min(len(q.pvs), parallel)-1)*admission.PlaceBytes/4)
	if err != nil {
		h.failData(w, r, err)
		return
	}
	defer leave()
	out := stream.New(w, "application/json")
	out.Buf = append(out.Buf, '{')
	var texts events
	some, lost := false, uint64(0)
	err = query.InOrder(r.Context(), q.pvs, func(ctx context.Context, pv string) (atTime, error) {
		return h.atTime(ctx, pv, &q)
	}, func(pv string, s atTime) error {
		if s.CompleteUntil < q.at {
			out.SetCompleteUntil(s.CompleteUntil)
		}
		lost += s.Lost
		if s.Run == nil {
			return nil
		}
		if some {
			out.Buf = append(out.Buf, ",\n"...)
		}
		some = true
		out.Buf = s.append(out.Buf, pv, &texts)
		return out.FlushFull()
	})
	out.SetLost(lost)
	out.Buf = append(out.Buf, "}\n"...)
	out.Finish(r, h.Log, err, func(err error) { h.failData(w, r, err) })
}

func parseAtTime(r *http.Request, now time.Time) (a atQuery, err error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return a, fmt.Errorf("the parameters in the URL cannot be read: %w", err)
	}
	if err := addBody(r, q); err != nil {
		return a, err
	}
	if err := atParameters.Check(q); err != nil {
		return a, err
	}
	seen := map[string]bool{}
	for _, pv := range splitNames(q["pv"]) {
		if !seen[pv] {
			a.pvs = append(a.pvs, pv)
		}
		seen[pv] = true
	}
	if len(a.pvs) == 0 || len(a.pvs) > maxAtTime {
		return a, fmt.Errorf("parameter pv: the request names %d PVs, and must name 1 to %d, in the URL or in the body", len(a.pvs), maxAtTime)
	}
	if a.at, err = request.Time(q, "at", now.UnixNano(), now); err != nil {
		return a, err
	}
	a.after, err = searchFrom(q.Get("searchPeriod"), a.at)
	return a, err
}

var period = regexp.MustCompile(`^P(?:(\d{1,5})Y)?(?:(\d{1,5})M)?(?:(\d{1,5})W)?(?:(\d{1,5})D)?$`)

// searchFrom returns the time from which on samples are searched, for a period such as P1Y2M or
// P30D. Without a period, all samples are searched: the Appliance has a limit to read fewer files.
func searchFrom(text string, at int64) (int64, error) {
	if text == "" {
		return math.MinInt64, nil
	}
	m := period.FindStringSubmatch(text)
	if m == nil || text == "P" {
		return 0, fmt.Errorf("parameter searchPeriod: %.50q is not a period; write it like P1D, P2W, P6M or P1Y", text)
	}
	var n [4]int
	for i, digits := range m[1:] {
		n[i], _ = strconv.Atoi(digits) // an absent part is 0
	}
	from := time.Unix(0, at).UTC().AddDate(-n[0], -n[1], -7*n[2]-n[3])
	if from.Before(time.Unix(0, query.Earliest)) {
		return math.MinInt64, nil
	}
	return from.UnixNano(), nil
}

// atTime is the sample of a PV at a time.
type atTime struct{ query.Last }

func (h *Handler) atTime(ctx context.Context, pv string, q *atQuery) (s atTime, err error) {
	s.Last, err = h.Reader.LastAt(ctx, pv, q.at)
	switch {
	case errors.Is(err, query.ErrUnknownPV):
		return atTime{query.Last{CompleteUntil: query.Latest}}, nil
	case err != nil:
		return s, fmt.Errorf("reading %s: %w", pv, err)
	case s.Run != nil && s.Run.Times[0] < q.after:
		s.Run = nil
	}
	return s, nil
}

func (s *atTime) append(dst []byte, pv string, texts *events) []byte {
	dst = texts.append(append(value.AppendString(dst, pv), ':'), s.Run, 0)
	return append(append(append(dst, `,"meta":{"DBRType":"`...), dbrType(s.Run.Type)...), `"}}`...)
}
