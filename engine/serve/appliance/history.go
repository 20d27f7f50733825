package appliance

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/stream"
	"varve.dev/varve/engine/store"
)

// maxHistories is the maximum number of PVs whose history a report reads.
const maxHistories = 100_000

// parallel is how many PVs a call reads at a time.
const parallel = 16

// past is a captured PV and what a report needs of it.
type past struct {
	pv     string
	paused bool
	last   int64 // time of the last sample, or 0
	entry  fields
	// These are set from the store.
	known bool  // its type is known: it has connected
	at    int64 // when it was added, or modified last; 0 if that is not known
}

// pasts returns the captured PVs that pass a filter. It reads something about each one from the
// store.
func (h *Handler) pasts(a args, keep func(s *capture.Status) bool, entry func(s *capture.Status) fields,
	read func(ctx context.Context, p *past) error,
) ([]*past, error) {
	_, selected, err := selection(a, noLimit)
	if err != nil {
		return nil, err
	}
	var all []*past
	for s, err := range h.Channels.Statuses(a.r.Context()) {
		switch {
		case err != nil:
			return nil, incomplete(a.r.Context(), err)
		case !selected.Matches(s.PV) || !keep(&s):
			continue
		case len(all) == maxHistories:
			return nil, statusError{fmt.Errorf("the report would read the history of more than %d PVs; select some with pv or regex", maxHistories),
				http.StatusRequestEntityTooLarge}
		}
		all = append(all, &past{pv: s.PV, paused: isPaused(&s), last: lastTime(&s), entry: entry(&s), known: hasConnected(&s)})
	}
	g, ctx := errgroup.WithContext(a.r.Context())
	g.SetLimit(parallel)
	for _, p := range all {
		g.Go(func() error { return read(ctx, p) })
	}
	return all, g.Wait()
}

// hasConnected reports whether the state of a PV shows that it has connected.
func hasConnected(s *capture.Status) bool { return s.Type.Valid() || s.Connects > 0 }

func anyPV(*capture.Status) bool           { return true }
func noFields(*capture.Status) fields      { return fields{} }
func (h *Handler) instance(p *past) fields { return fields{"pvName": p.pv, "instance": h.Name} }

// readAdded reads when a PV was added to the archive: the time of its first mark.
func (h *Handler) readAdded(ctx context.Context, p *past) error {
	for m, err := range h.Reader.Marks(ctx, p.pv, query.Earliest, query.Latest) {
		p.at = m.Time
		return err
	}
	m, _, err := h.Reader.Store.MetadataAt(ctx, p.pv, query.Earliest)
	p.at = m.Time
	return err
}

// readModified reads when the metadata of a PV changed last. It leaves 0 if it never changed.
func (h *Handler) readModified(ctx context.Context, p *past) error {
	var first store.PVMetadata
	for m, err := range h.Reader.MetadataHistory(ctx, p.pv, query.Earliest, query.Latest) {
		if err != nil {
			return err
		}
		if first.PV == "" {
			first = m
		} else {
			p.at = m.Time
		}
	}
	return nil
}

// readKnown reads whether a PV has ever connected.
func (h *Handler) readKnown(ctx context.Context, p *past) error {
	if p.known {
		return nil
	}
	t, err := h.Reader.Type(ctx, p.pv)
	p.known = t.Valid()
	return err
}

// recentLimit is the default of the parameter limit of reports about recent changes.
const recentLimit = 100

// recentlyAdded answers the PVs that were added to the archive last, latest first.
func (h *Handler) recentlyAdded(a args) (any, error) {
	all, err := h.pasts(a, anyPV, noFields, h.readAdded)
	return h.recent(a, all, "creationTime", 1), err
}

// recentlyModified answers the PVs whose metadata changed. As in the Appliance, the earliest is
// first.
func (h *Handler) recentlyModified(a args) (any, error) {
	all, err := h.pasts(a, anyPV, noFields, h.readModified)
	return h.recent(a, all, "modificationTime", -1), err
}

func (h *Handler) recent(a args, all []*past, field string, sign float64) list {
	limit, _, err := selection(a, recentLimit)
	top := ranking{limit: limit}
	for _, p := range all {
		if p.at == 0 || err != nil {
			continue
		}
		e := h.instance(p)
		e[field] = clock(p.at)
		top.add(sign*float64(p.at), p.pv, e)
	}
	return top.list()
}

// firstAdded returns when each PV was added, for the first PVs by name, up to the limit.
func (h *Handler) firstAdded(a args) ([]*past, error) {
	limit, _, err := selection(a, noLimit)
	if err != nil {
		return nil, err
	}
	all, err := h.pasts(a, anyPV, noFields, h.readAdded)
	if limit >= 0 {
		all = all[:min(limit, len(all))]
	}
	return all, err
}

// timeSpans answers, by name, when each PV was added and when its last sample was.
func (h *Handler) timeSpans(a args) (any, error) {
	all, err := h.firstAdded(a)
	out := make(map[string]fields, len(all))
	for _, p := range all {
		e := created(p)
		if p.last != 0 {
			e["lastEvent"] = epoch(p.last)
		}
		out[p.pv] = e
	}
	return out, err
}

// creations answers when each PV was added.
func (h *Handler) creations(a args) (any, error) {
	all, err := h.firstAdded(a)
	out := make([]fields, len(all))
	for i, p := range all {
		out[i] = created(p)
	}
	return out, err
}

func created(p *past) fields {
	e := fields{"pvName": p.pv, "paused": strconv.FormatBool(p.paused)}
	if p.at != 0 {
		e["creationTS"] = epoch(p.at)
	}
	return e
}

func epoch(ns int64) string {
	secs, _ := split(ns)
	return strconv.FormatInt(secs, 10)
}

// isAbsent reports whether a PV is searched for, or was lost.
func isAbsent(s *capture.Status) bool {
	return s.State == capture.Searching || s.State == capture.Disconnected
}

// neverConnected answers the PVs that have never connected, and why.
func (h *Handler) neverConnected(a args) (any, error) {
	isSearching := func(s *capture.Status) bool { return s.State == capture.Searching }
	entry := func(s *capture.Status) fields {
		since := clockOrNever(s.AbsentSince)
		return fields{
			"requestTime": since, "startOfWorkflow": since, "currentState": "METAINFO_REQUESTED", "appliance": h.Name,
			"noDataCause": s.Cause,
		}
	}
	return h.absent(a, isSearching, entry, false)
}

// disconnected answers the PVs that were connected before and are not connected now.
func (h *Handler) disconnected(a args) (any, error) {
	entry := func(s *capture.Status) fields {
		e := fields{
			"instance": h.Name, "lastKnownEvent": clockOrNever(lastTime(s)), "connectionLostAt": clockOrNever(s.AbsentSince),
			"noConnectionAsOfEpochSecs": epoch(s.AbsentSince), "hostName": "N/A", "commandThreadID": "N/A",
			"internalState": s.State.String(), "noDataCause": s.Cause,
		}
		if s.Host != "" {
			e["hostName"] = s.Host
		}
		return e
	}
	return h.absent(a, isAbsent, entry, true)
}

// absent answers those PVs of a filter that have connected before, or those that have not, by
// name.
func (h *Handler) absent(a args, keep func(s *capture.Status) bool, entry func(s *capture.Status) fields, connected bool) (any, error) {
	limit, _, err := selection(a, noLimit)
	if err != nil {
		return nil, err
	}
	all, err := h.pasts(a, func(s *capture.Status) bool { return keep(s) && (connected || !hasConnected(s)) }, entry, h.readKnown)
	out := []fields{}
	for _, p := range all {
		if p.known == connected && len(out) != limit {
			p.entry["pvName"] = p.pv
			out = append(out, p.entry)
		}
	}
	return out, err
}

// lastKnownEvent answers the time of the last sample of a PV. If an engine may have a later one, the answer
// has the time up to which it is complete.
func (h *Handler) lastKnownEvent(a args) (any, error) {
	name, err := a.pv()
	if err != nil {
		return nil, err
	}
	now := h.Now().UnixNano()
	last, err := h.Reader.LastAt(a.r.Context(), name, now)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	case last.Run == nil && last.Lost > 0:
		return nil, notFound("the last sample of %s is in a damaged block", name)
	case last.Run == nil:
		return nil, notFound("the archive has no sample of %s", name)
	}
	answer := fields{"timestamp": iso(last.Run.Times[0])}
	if last.CompleteUntil < now {
		answer[completeUntil] = stream.Until(last.CompleteUntil)
	}
	return answer, nil
}
