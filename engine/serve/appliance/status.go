package appliance

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/request"
)

// pvStatus is an entry of getPVStatus. As in the Appliance, all values are strings. Empty
// values are left out.
type pvStatus struct {
	PVName                     string `json:"pvName"`
	Status                     string `json:"status"`
	IsMonitored                string `json:"isMonitored,omitempty"`
	SamplingPeriod             string `json:"samplingPeriod,omitempty"` // seconds
	ConnectionState            string `json:"connectionState,omitempty"`
	LastEvent                  string `json:"lastEvent,omitempty"`
	ConnectionFirstEstablished string `json:"connectionFirstEstablished,omitempty"`
	ConnectionLastRestablished string `json:"connectionLastRestablished,omitempty"`
	ConnectionLossRegainCount  string `json:"connectionLossRegainCount,omitempty"`
	LastRotateLogs             string `json:"lastRotateLogs,omitempty"`
	Appliance                  string `json:"appliance,omitempty"`
	PVNameOnly                 string `json:"pvNameOnly,omitempty"`
}

// pvStatus answers the states of the PVs that are named or match a glob.
func (h *Handler) pvStatus(w http.ResponseWriter, r *http.Request) {
	q, err := form(w, r)
	if err != nil {
		badRequest(w, err)
		return
	}
	names, err := h.statusNames(r, q)
	if err != nil {
		badRequest(w, err)
		return
	}
	list := make([]pvStatus, 0, len(names))
	for _, name := range names {
		s, err := h.statusOf(r, name)
		if err != nil {
			h.fail(w, r, err)
			return
		}
		list = append(list, s)
	}
	writeJSON(w, http.StatusOK, list)
}

// statusNames returns the requested names. Names without wildcards are returned as they are in
// the request, even if they are unknown.
func (h *Handler) statusNames(r *http.Request, q url.Values) ([]string, error) {
	limit, err := request.Limit(q, noLimit)
	if err != nil {
		return nil, err
	}
	requested := splitNames(q["pv"])
	if len(requested) == 0 {
		match, err := matcher(q)
		if err != nil {
			return nil, err
		}
		return h.Reader.Names(r.Context(), match, limit)
	}
	var names []string
	for _, name := range requested {
		if !request.IsGlob(name) {
			names = append(names, name)
			continue
		}
		some, err := h.Reader.Names(r.Context(), request.Glob(name), limit)
		if err != nil {
			return nil, err
		}
		names = append(names, some...)
	}
	if limit >= 0 {
		names = names[:min(limit, len(names))]
	}
	return names, nil
}

func (h *Handler) statusOf(r *http.Request, name string) (pvStatus, error) {
	pv := pvname.Canonical(name)
	s, ok, err := h.Channels.Status(r.Context(), pv)
	switch {
	case err != nil:
		return pvStatus{}, err
	case !ok:
		return pvStatus{PVName: name, Status: "Not being archived"}, nil
	case s.State == capture.Paused:
		return pvStatus{PVName: name, PVNameOnly: pv, Status: "Paused", Appliance: h.Name}, nil
	case s.State == capture.Searching:
		// The Appliance archives a PV only after it has connected once.
		t, err := h.Reader.Type(r.Context(), pv)
		if err != nil || !t.Valid() {
			return pvStatus{PVName: name, Status: "Initial sampling"}, err
		}
	}
	return h.archived(name, pv, &s), nil
}

func (h *Handler) archived(name, pv string, s *capture.Status) pvStatus {
	scan, period := sampling(s)
	out := pvStatus{
		PVName: name, PVNameOnly: pv, Status: "Being archived", Appliance: h.Name,
		IsMonitored:               strconv.FormatBool(!scan),
		SamplingPeriod:            period,
		ConnectionState:           strconv.FormatBool(s.State == capture.Connected),
		LastEvent:                 "Never",
		LastRotateLogs:            "Never",
		ConnectionLossRegainCount: strconv.FormatUint(s.LostConnections, 10),
	}
	if s.HasLast {
		out.LastEvent = clock(s.Last.Time)
	}
	switch {
	case s.Connects == 0:
		out.ConnectionFirstEstablished, out.ConnectionLastRestablished = "Never", "Never"
	case s.State == capture.Connected:
		out.ConnectionLastRestablished = clock(s.Since)
	}
	return out
}

// sampling reports whether a channel is scanned. It also returns the scan period in seconds,
// which is 0 if the channel is monitored.
func sampling(s *capture.Status) (scan bool, seconds string) {
	period, scan := strings.CutPrefix(s.Sampling, "Scan ")
	d, _ := time.ParseDuration(period) // 0 for Monitor
	return scan, number(d.Seconds())
}

// clock formats a time for people, in the same way as the Appliance.
func clock(ns int64) string { return time.Unix(0, ns).UTC().Format("Jan/02/2006 15:04:05 MST") }
