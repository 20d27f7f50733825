package peer

import (
	"fmt"
	"math"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// line is the state of a channel, or the end of an answer.
type line struct {
	End bool `json:"end,omitempty"`

	PV              string           `json:"pv,omitempty"`
	Group           string           `json:"group,omitempty"`
	Provider        capture.Provider `json:"provider,omitempty"`
	State           capture.State    `json:"state,omitempty"`
	Since           int64            `json:"since,omitempty"`
	Cause           string           `json:"cause,omitempty"`
	Absent          sample.MarkKind  `json:"absent,omitempty"`
	AbsentSince     int64            `json:"absentSince,omitempty"`
	Silent          bool             `json:"silent,omitempty"`
	Host            string           `json:"host,omitempty"`
	Type            sample.Type      `json:"type,omitempty"`
	TypeName        string           `json:"typeName,omitempty"`
	Count           int              `json:"count,omitempty"`
	Sampling        string           `json:"sampling,omitempty"`
	Retention       store.Retention  `json:"retention,omitzero"`
	Rate            float64          `json:"rate,omitempty"`
	Connects        uint64           `json:"connects,omitempty"`
	LostConnections uint64           `json:"lost,omitempty"`
	Received        uint64           `json:"received,omitempty"`
	Stored          uint64           `json:"stored,omitempty"`
	Dropped         []uint64         `json:"dropped,omitempty"` // by reason
	Suspected       uint64           `json:"suspected,omitempty"`
	Last            []byte           `json:"last,omitempty"` // a block of one sample
	Metadata        *metadata        `json:"metadata,omitempty"`

	EnabledBy string `json:"enabledBy,omitempty"`

	Filters string         `json:"filters,omitempty"`
	Update  capture.Update `json:"update,omitzero"`

	Missing []capture.MissingProperty `json:"missing,omitempty"`
}

// metadata is sample.Metadata with limits that JSON can express.
type metadata struct {
	Units     string      `json:"units,omitempty"`
	Precision int         `json:"precision,omitempty"`
	Limits    [8]*float64 `json:"limits"` // nil for a limit that the channel does not have
	Labels    []string    `json:"labels,omitempty"`
	Type      sample.Type `json:"type,omitempty"`
	Count     int         `json:"count,omitempty"`
	Host      string      `json:"host,omitempty"`

	Properties []sample.Property `json:"properties,omitempty"`
}

func newLine(s *capture.Status) line {
	l := line{
		PV: s.PV, Group: s.Group, Provider: s.Provider, State: s.State, Since: s.Since, Cause: s.Cause, Host: s.Host,
		Type: s.Type, TypeName: s.TypeName, Count: s.Count, Sampling: s.Sampling, Retention: s.Retention, Rate: s.Rate,
		Connects: s.Connects, LostConnections: s.LostConnections,
		Received: s.Received, Stored: s.Stored, Dropped: s.Dropped[:], Suspected: s.Suspected,
		Absent: s.Absent, AbsentSince: s.AbsentSince, Silent: s.Silent, Missing: s.Missing, EnabledBy: s.EnabledBy,
		Filters: s.Filters, Update: s.Update,
	}
	if s.HasLast && s.Type.Valid() {
		r := &sample.Run{Type: s.Type}
		r.Append(&s.Last)
		l.Last = block.Append(nil, r)
	}
	if m := s.Metadata; m != nil {
		l.Metadata = &metadata{
			Units: m.Units, Precision: m.Precision, Labels: m.Labels, Type: m.Type, Count: m.Count, Host: m.Host,
			Properties: m.Properties,
		}
		for i, v := range m.Limits() {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				l.Metadata.Limits[i] = &v
			}
		}
	}
	return l
}

func (l *line) status() (capture.Status, error) {
	s := capture.Status{
		PV: l.PV, Group: l.Group, Provider: l.Provider, State: l.State, Since: l.Since, Cause: l.Cause, Host: l.Host,
		Type: l.Type, TypeName: l.TypeName, Count: l.Count, Sampling: l.Sampling, Retention: l.Retention, Rate: l.Rate,
		Connects: l.Connects, LostConnections: l.LostConnections,
		Received: l.Received, Stored: l.Stored, Suspected: l.Suspected,
		Absent: l.Absent, AbsentSince: l.AbsentSince, Silent: l.Silent, Missing: l.Missing, EnabledBy: l.EnabledBy,
		Filters: l.Filters, Update: l.Update,
	}
	if int(l.State) >= capture.NumStates || int(l.Provider) >= capture.NumProviders || !l.Retention.Raw.Valid() || l.PV == "" {
		return s, fmt.Errorf("state %d, provider %d of %q: %w", l.State, l.Provider, l.PV, ErrCorrupt)
	}
	copy(s.Dropped[:], l.Dropped)
	if l.Last != nil {
		var r sample.Run
		if err := block.Decode(&r, l.Last); err != nil || r.Len() != 1 || r.Type != l.Type {
			return s, fmt.Errorf("latest sample of %s: %w", l.PV, ErrCorrupt)
		}
		s.HasLast, s.Last = true, r.At(0)
	}
	if m := l.Metadata; m != nil {
		s.Metadata = &sample.Metadata{
			Units: m.Units, Precision: m.Precision, Labels: m.Labels, Type: m.Type, Count: m.Count, Host: m.Host,
			Properties: m.Properties,
		}
		var limits [8]float64
		for i, v := range m.Limits {
			limits[i] = math.NaN()
			if v != nil {
				limits[i] = *v
			}
		}
		s.Metadata.SetLimits(limits)
	}
	return s, nil
}
