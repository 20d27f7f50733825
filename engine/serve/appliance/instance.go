package appliance

import (
	"context"
	"strconv"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
)

// totals are sums over all captured PVs.
type totals struct {
	pvs, connected, paused int
	rate                   float64 // samples/s
	bytes                  float64 // per second, before compression
	whole                  bool    // all engines have answered
}

func (h *Handler) totals(ctx context.Context) totals {
	t := totals{whole: true}
	for s, err := range h.Channels.Statuses(ctx) {
		if err != nil {
			t.whole = false
			continue
		}
		t.pvs++
		switch s.State {
		case capture.Connected:
			t.connected++
		case capture.Paused, capture.Disabled:
			t.paused++
		}
		t.rate += s.Rate
		t.bytes += s.StorageRate()
	}
	return t
}

// notMeasured stands for the metrics of the Appliance that have no meaning here.
const notMeasured = "N/A"

// metrics returns the sums in the form of the Appliance. As in the Appliance, an engine that does
// not answer shows in the status.
func (h *Handler) metrics(ctx context.Context) fields {
	t := h.totals(ctx)
	const day, gigabyte = 24 * 3600, 1 << 30
	return fields{
		"instance": h.Name, "status": either(t.whole, "Working", "Stopped - engine"),
		"pvCount": strconv.Itoa(t.pvs), "connectedPVCount": strconv.Itoa(t.connected),
		"disconnectedPVCount": strconv.Itoa(t.pvs - t.connected - t.paused), "pausedPVCount": strconv.Itoa(t.paused),
		"eventRate": number(t.rate), "dataRate": number(t.bytes),
		"dataRateGBPerDay": number(t.bytes * day / gigabyte), "dataRateGBPerYear": number(t.bytes * day * 365 / gigabyte),
		"capacityUtilized": notMeasured, "formattedWriteThreadSeconds": notMeasured, "maxETLPercentage": notMeasured, "MGMT_uptime": notMeasured,
	}
}

// metricsOfAll answers the metrics of each appliance. The archive is one.
func (h *Handler) metricsOfAll(a args) (any, error) { return []fields{h.metrics(a.r.Context())}, nil }

func (h *Handler) metricsOfInstance(a args) (any, error) { return h.metrics(a.r.Context()), nil }

// metricsDetails answers the same as a list for people.
func (h *Handler) metricsDetails(a args) (any, error) {
	if err := h.checkIdentity(a.Get("appliance")); err != nil {
		return nil, err
	}
	m := h.metrics(a.r.Context())
	list := []detail{{"Appliance Identity", h.Name, "mgmt"}}
	for _, l := range []struct{ name, field string }{
		{"Status", "status"}, {"Total PV count", "pvCount"}, {"Connected PV count", "connectedPVCount"},
		{"Disconnected PV count", "disconnectedPVCount"}, {"Paused PV count", "pausedPVCount"},
		{"Event Rate (in events/sec)", "eventRate"}, {"Data Rate (in bytes/sec, before compression)", "dataRate"},
		{"Data Rate in (GB/day)", "dataRateGBPerDay"}, {"Data Rate in (GB/year)", "dataRateGBPerYear"},
	} {
		list = append(list, detail{l.name, m[l.field], "engine"})
	}
	return list, nil
}

// aggregated answers the sums that the Appliance uses to assign PVs to appliances.
func (h *Handler) aggregated(a args) (any, error) {
	t := h.totals(a.r.Context())
	if !t.whole {
		return nil, query.ErrNoAnswer
	}
	return map[string]any{
		"totalStorageRate": number(t.bytes), "totalEventRate": number(t.rate), "totalPVCount": strconv.Itoa(t.pvs),
		"totalStorageImpact": struct{}{},
	}, nil
}

// connectedCount answers how many PVs are connected. While an engine does not answer, the sums would lack its
// PVs, and no field says so.
func (h *Handler) connectedCount(a args) (any, error) {
	t := h.totals(a.r.Context())
	if !t.whole {
		return nil, query.ErrNoAnswer
	}
	return fields{
		"total": strconv.Itoa(t.pvs), "connected": strconv.Itoa(t.connected),
		"disconnected": strconv.Itoa(t.pvs - t.connected - t.paused), "paused": strconv.Itoa(t.paused),
	}, nil
}
