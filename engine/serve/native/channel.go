package native

import (
	"encoding/json"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/value"
	"varve.dev/varve/engine/store"
)

// channel is the JSON form of a channel.
type channel struct {
	PV              string            `json:"pv"`
	AliasOf         string            `json:"aliasOf,omitempty"` // its PV
	Formerly        []string          `json:"formerly,omitempty"`
	Aliases         []string          `json:"aliases,omitempty"`
	Group           string            `json:"group"`
	Provider        string            `json:"provider"`
	State           string            `json:"state"`
	Since           string            `json:"since,omitempty"`
	Cause           string            `json:"cause,omitempty"`
	Host            string            `json:"host,omitempty"`
	Engine          string            `json:"engine,omitempty"`
	Type            string            `json:"type,omitempty"`
	Count           int               `json:"count,omitempty"`
	Sampling        string            `json:"sampling"`
	Retention       retention         `json:"retention"`
	Rate            float64           `json:"rate"` // samples/s
	Connects        uint64            `json:"connects"`
	LostConnections uint64            `json:"lostConnections"`
	Received        uint64            `json:"received"`
	Stored          uint64            `json:"stored"`
	Pending         uint64            `json:"pending"`
	Dropped         map[string]uint64 `json:"dropped,omitempty"` // by reason
	// Suspected is how many times the IOC may have dropped updates without notice.
	Suspected uint64      `json:"suspected,omitempty"`
	Last      *lastSample `json:"last,omitempty"`
	Metadata  *metadata   `json:"metadata,omitempty"`
	// EnabledBy says whether another PV enables the capture. It is absent if none does.
	EnabledBy string `json:"enabledBy,omitempty"`
	// Missing has the properties without a value.
	Missing []capture.MissingProperty `json:"missing,omitempty"`
	// NoData says why no samples arrive. It is absent if the channel is connected.
	NoData *noData `json:"noData,omitempty"`
	// GivenUp describes the samples that the disk guard deleted early. It is set only in
	// answers for one channel.
	GivenUp *givenUp `json:"givenUp,omitempty"`
}

// retention is how long raw samples and rollups are kept.
type retention struct {
	Raw     string  `json:"raw"` // 1d … 10y, or forever
	Rollups []level `json:"rollups,omitempty"`
}

type level struct {
	Every string `json:"every"` // such as 10s, 5m0s
	Keep  string `json:"keep"`
}

func newRetention(r store.Retention) retention {
	out := retention{Raw: r.Raw.String()}
	for _, l := range r.Levels {
		if l.Valid() {
			out.Rollups = append(out.Rollups, level{l.Every().String(), l.Tier().String()})
		}
	}
	return out
}

// lastSample is the latest sample. It leaves out a large value.
type lastSample struct {
	Time     string          `json:"time"`
	Value    json.RawMessage `json:"value,omitempty"`
	Severity string          `json:"severity"`
	Status   string          `json:"status"`
}

func newChannel(s *capture.Status) channel {
	c := channel{
		PV: s.PV, Group: s.Group, Provider: s.Provider.String(), State: s.State.String(), Cause: s.Cause, Host: s.Host, Engine: s.Engine, Count: s.Count,
		Sampling: s.Sampling, Retention: newRetention(s.Retention), Rate: s.Rate, Connects: s.Connects, LostConnections: s.LostConnections,
		Received: s.Received, Stored: s.Stored, Pending: pending(s), Dropped: drops(&s.Dropped), Suspected: s.Suspected, Metadata: newMetadata(s.Metadata),
		EnabledBy: s.EnabledBy, Missing: s.Missing, NoData: noDataNow(s),
	}
	if s.Since != 0 {
		c.Since = clock(s.Since)
	}
	if s.Type.Valid() {
		c.Type = s.Type.String()
	} else {
		c.Type = s.TypeName
	}
	if s.HasLast {
		c.Last = &lastSample{
			Time: clock(s.Last.Time), Severity: s.Last.Tag.Severity().String(), Status: s.Last.Tag.StatusName(),
		}
		if s.Last.Tag&sample.Elsewhere == 0 {
			r := &sample.Run{Type: s.Type}
			r.Append(&s.Last)
			c.Last.Value = value.Quoted.Append(nil, r, 0)
		}
	}
	return c
}

// pending returns the number of samples received that are neither stored nor dropped yet.
func pending(s *capture.Status) uint64 {
	done := s.Stored
	for _, n := range s.Dropped {
		done += n
	}
	return s.Received - min(s.Received, done)
}

func drops(by *[sample.NumReasons]uint64) map[string]uint64 {
	m := map[string]uint64{}
	for r, n := range by {
		if n > 0 {
			m[sample.Reason(r).String()] = n
		}
	}
	return m
}

// metadata is the JSON form of a PV's metadata. It leaves out limits that the PV does not
// have.
type metadata struct {
	Units     string             `json:"units,omitempty"`
	Precision int                `json:"precision"`
	Limits    map[string]float64 `json:"limits,omitempty"`
	Labels    []string           `json:"labels,omitempty"`
	// Properties are the values of fields of the record.
	Properties map[string]string `json:"properties,omitempty"`
}

func newMetadata(m *sample.Metadata) *metadata {
	if m == nil {
		return nil
	}
	out := &metadata{Units: m.Units, Precision: m.Precision, Labels: m.Labels, Limits: map[string]float64{}}
	for i, v := range limitsOf(m) {
		if isLimit(v) {
			out.Limits[limitNames[i]] = v
		}
	}
	for _, p := range m.Properties {
		if out.Properties == nil {
			out.Properties = make(map[string]string, len(m.Properties))
		}
		out.Properties[p.Name] = p.Value
	}
	return out
}
