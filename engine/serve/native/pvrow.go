package native

import (
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/openapi"
)

// maxValue is the size in bytes of the largest value in the table of PVs.
const maxValue = 256

// pvRow is a row of the table of PVs.
type pvRow struct {
	PV string `json:"pv"`
	// Formerly are the former names of the PV, the latest first.
	Formerly []string `json:"formerly,omitempty"`
	Aliases  []string `json:"aliases,omitempty"`
	Group    string   `json:"group"`
	Provider string   `json:"provider"`
	State    string   `json:"state"`
	Silent   bool     `json:"silent,omitempty"`
	Since    string   `json:"since,omitempty"`
	Cause    string   `json:"cause,omitempty"`
	Host     string   `json:"host,omitempty"`
	Engine   string   `json:"engine,omitempty"`
	Type     string   `json:"type,omitempty"`
	Units    string   `json:"units,omitempty"`
	// Rate is in samples/s, and Storage in bytes/s before compression.
	Rate            float64     `json:"rate"`
	Storage         float64     `json:"storage"`
	Received        uint64      `json:"received"`
	Stored          uint64      `json:"stored"`
	Dropped         uint64      `json:"dropped"`
	LostConnections uint64      `json:"lostConnections"`
	Last            *lastSample `json:"last,omitempty"`
	// Label is the state of an enumeration.
	Label string `json:"label,omitempty"`
}

func newRow(s *capture.Status) pvRow {
	c := newChannel(s)
	row := pvRow{
		PV: c.PV, Group: c.Group, Provider: c.Provider, State: c.State, Silent: s.Silent, Since: c.Since, Cause: c.Cause, Host: c.Host, Engine: c.Engine, Type: c.Type,
		Rate: c.Rate, Storage: s.StorageRate(), Received: c.Received, Stored: c.Stored, Dropped: dropped(s), LostConnections: c.LostConnections, Last: c.Last,
	}
	if row.Last != nil && len(row.Last.Value) > maxValue {
		row.Last.Value = nil
	}
	if m := s.Metadata; m != nil {
		row.Units = m.Units
		if s.HasLast && s.Type == sample.Enum && s.Last.Word < uint64(len(m.Labels)) {
			row.Label = m.Labels[s.Last.Word]
		}
	}
	return row
}

func pvsSchema() openapi.Schema {
	return openapi.Object(members{
		"total": openapi.Whole("The PVs that are captured."), "matched": openapi.Whole("The PVs that pass the filters."),
		"reachable": openapi.Whole("The matched PVs that a request with this order can read."), "offset": openapi.Whole("The matched PVs before the page."),
		"pvs": openapi.List(openapi.Ref("PVRow")), "incomplete?": openapi.String("Why PVs are missing."),
	})
}

func rowSchema() openapi.Schema {
	count := openapi.Whole("")
	return openapi.Object(members{
		"pv": openapi.String(""), "formerly?": formerlySchema(), "aliases?": aliasesSchema(), "group": openapi.String(""), "provider": openapi.String(""), "state": openapi.Enum("", states()...),
		"silent?": openapi.Schema{"type": "boolean", "description": "The PV is connected, but sends no values."},
		"since?":  openapi.Timestamp("When the state began."), "cause?": openapi.String("Why no samples arrive."), "host?": openapi.String("The IOC."), "engine?": openapi.String("The engine that captures the PV, if a retrieval pod answers."), "type?": openapi.String(""), "units?": openapi.String(""),
		"rate": openapi.Number("Samples per second."), "storage": openapi.Number("Bytes per second before compression, estimated."),
		"received": count, "stored": count, "dropped": count, "lostConnections": count, "label?": openapi.String("The state of an enumeration."),
		"last?": openapi.Object(members{
			"time": openapi.Timestamp(""), "value?": openapi.Any("Absent if it has more than 256 bytes."), "severity": openapi.String(""), "status": openapi.String(""),
		}),
	})
}
