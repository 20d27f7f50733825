package appliance

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/absence"
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
	// These fields are additions to the Appliance: why no samples arrive.
	NoDataCause string `json:"noDataCause,omitempty"`
	NoDataSince string `json:"noDataSince,omitempty"`
}

// pvStatus answers the states of the PVs that are named or match a glob.
func (h *Handler) pvStatus(a args) (any, error) {
	ctx := a.r.Context()
	names, err := h.statusNames(ctx, a)
	if err != nil {
		return nil, err
	}
	if len(names) > maxStatuses {
		return nil, badQuery{fmt.Errorf("parameter pv: the request selects %d PVs, and may select at most %d; use limit", len(names), maxStatuses)}
	}
	list := make([]pvStatus, 0, len(names))
	err = query.InOrder(ctx, names, h.statusOf, func(_ string, s pvStatus) error {
		list = append(list, s)
		return nil
	})
	return list, err
}

// maxStatuses is the maximum number of PVs in a request of getPVStatus.
const maxStatuses = 100_000

// statusNames returns the requested names, each once: first those without wildcards, as they are in
// the request and even if they are unknown.
func (h *Handler) statusNames(ctx context.Context, a args) ([]string, error) {
	limit, p, err := selection(a, noLimit)
	if err != nil {
		return nil, err
	}
	if limit < 0 || limit > maxStatuses {
		limit = maxStatuses + 1 // pvStatus refuses that many
	}
	requested := splitNames(a.Values["pv"])
	if len(requested) == 0 {
		return h.Reader.Find(ctx, p, limit)
	}
	names, seen, globs := []string(nil), map[string]bool{}, false
	add := func(name string) {
		if !seen[name] {
			names = append(names, name)
		}
		seen[name] = true
	}
	for _, name := range requested {
		if request.IsGlob(name) {
			globs = true
		} else {
			add(name)
		}
	}
	if globs {
		matching, err := h.Reader.Find(ctx, p, limit)
		if err != nil {
			return nil, err
		}
		for _, name := range matching {
			add(name)
		}
	}
	return names[:min(limit, len(names))], nil
}

// statusOf returns the state of a PV, and why no samples of the PV arrive.
func (h *Handler) statusOf(ctx context.Context, name string) (pvStatus, error) {
	out, err := h.stateOf(ctx, name)
	if err != nil || out.ConnectionState == "true" {
		return out, err
	}
	c, has, err := h.cause(ctx, name)
	if has {
		out.NoDataCause = c.Text
		if c.Since != 0 {
			out.NoDataSince = clock(c.Since)
		}
	}
	return out, err
}

func (h *Handler) stateOf(ctx context.Context, name string) (pvStatus, error) {
	n, err := h.stateOfName(ctx, name)
	if err != nil {
		return pvStatus{}, err
	}
	s := &n.status
	switch {
	case !n.captured:
		return pvStatus{PVName: name, Status: "Not being archived"}, nil
	case s.State == capture.Paused:
		return pvStatus{PVName: name, PVNameOnly: n.pv, Status: "Paused", Appliance: h.Name}, nil
	case s.State == capture.Searching:
		// The Appliance archives a PV only after it has connected once.
		t, err := h.Reader.Type(ctx, n.pv)
		if err != nil || !t.Valid() {
			return pvStatus{PVName: name, Status: "Initial sampling"}, err
		}
	}
	return h.archived(name, n.pv, s), nil
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
	if s.Silent {
		c := absence.OfStatus(s)
		out.NoDataCause, out.NoDataSince = c.Text, clock(c.Since)
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
