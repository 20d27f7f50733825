package appliance

import (
	"strconv"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/absence"
	"varve.dev/varve/engine/store"
)

// detail is a line of the Appliance's page of a PV.
type detail struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // mgmt: configured; pv: observed
}

// details answers the configuration and the state of a PV in a form for people.
func (h *Handler) details(a args) (any, error) {
	i, err := h.infoOf(a)
	if err != nil {
		return nil, err
	}
	list := append(h.configured(i), h.observed(i)...)
	for _, p := range i.meta.Properties {
		list = append(list, detail{"Extra info - " + valid(p.Name) + ":", valid(p.Value), "mgmt"})
	}
	return list, nil
}

func (h *Handler) configured(i *info) []detail {
	method, period := i.sampling()
	list := []detail{
		{"PV Name", i.name, "mgmt"},
		{"Instance archiving PV", h.Name, "mgmt"},
		{"Archiver DBR type (from typeinfo):", either(i.meta.Type.Valid(), dbrType(i.meta.Type), "unknown: never connected"), "mgmt"},
		{"Is this a scalar:", either(!i.meta.Type.IsArray(), "Yes", "No"), "mgmt"},
		{"Number of elements:", strconv.Itoa(max(i.meta.Count, 1)), "mgmt"},
		{"Precision:", number(float64(i.meta.Precision)), "mgmt"},
		{"Units:", valid(i.meta.Units), "mgmt"},
		{"Is this PV paused:", either(i.paused(), "Yes", "No"), "mgmt"},
		{"Sampling method:", method, "mgmt"},
		{"Sampling period:", period, "mgmt"},
		{"Are we using PVAccess?", either(i.captured && i.status.Provider == capture.PVA, "Yes", "No"), "mgmt"},
	}
	if i.fieldOf != "" {
		return append(list, detail{"Is a field, stored with the metadata of the PV:", i.fieldOf, "mgmt"})
	}
	if !i.captured {
		return list
	}
	list = append(list, detail{"Samples are kept:", keeps(i.status.Retention.Raw), "mgmt"})
	for _, l := range i.status.Retention.Levels {
		if l.Valid() {
			list = append(list, detail{"Rollups, every " + l.Every().String() + ", are kept:", keeps(l.Tier()), "mgmt"})
		}
	}
	return list
}

func keeps(r store.Tier) string { return either(r == store.Forever, "forever", "for "+r.String()) }

// observed returns the state of a PV. It is empty for a PV that no engine captures.
func (h *Handler) observed(i *info) []detail {
	s := &i.status
	if !i.captured {
		return nil
	}
	if i.fieldOf != "" { // the numbers below are about samples of the PV
		return connection(s)
	}
	last := "Never"
	if s.HasLast {
		last = clock(s.Last.Time)
	}
	list := append(connection(s), []detail{
		{"When did we receive the last event?", last, "pv"},
		{"How many times have we lost and regained the connection to this PV?", count(s.LostConnections), "pv"},
		{"How many events so far?", count(s.Received), "pv"},
		{"Estimated event rate (events/sec)", strconv.FormatFloat(s.Rate, 'f', 2, 64), "pv"},
	}...)
	if s.State != capture.Connected || s.Silent {
		list = append(list, detail{"Why is there no data?", absence.OfStatus(s).Text, "pv"})
	}
	for r, n := range s.Dropped {
		if n > 0 {
			list = append(list, detail{"Events not archived: " + sample.Reason(r).String(), count(n), "pv"})
		}
	}
	return list
}

// connection returns where a PV is connected, and whether it is.
func connection(s *capture.Status) []detail {
	return []detail{
		{"Host name", s.Host, "pv"},
		{"Is this PV currently connected?", either(s.State == capture.Connected, "yes", "no"), "pv"},
	}
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}
