package native

import (
	"context"
	"encoding/json"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/absence"
	"varve.dev/varve/engine/serve/field"
)

// noData says why a PV has no data at the end of a time range, or now. Since is absent if that is
// not known.
type noData struct {
	Cause string `json:"cause"`
	Since string `json:"since,omitempty"`
	Text  string `json:"text,omitempty"`
}

func newNoData(c absence.Cause) *noData {
	d := &noData{Cause: c.Kind, Text: c.Text}
	if c.Since != 0 {
		d.Since = clock(c.Since)
	}
	return d
}

// noData says why a PV has no data at the end of a time range. It returns nil if it has data. empty
// means that the range has no samples; otherwise last is the time of the last one, or 0.
func (h *Handler) noData(ctx context.Context, pv string, until int64, empty bool, last int64) (*noData, error) {
	in := absence.Input{Until: until, Now: h.Now().UnixNano(), Empty: empty, Last: last}
	pv = pvname.Canonical(pv)
	if of, is, err := field.PV(ctx, h.Reader, pv); err != nil {
		return nil, err
	} else if is { // a field has no data if its PV has none
		pv = of
	}
	var err error
	if absence.Live(until, in.Now) {
		if in.Status, in.Captured, err = h.Channels.Status(ctx, pv); err != nil {
			return &noData{Cause: absence.Unknown, Text: err.Error()}, nil
		}
	}
	if in.Mark, in.Marked, err = h.Reader.StateMark(ctx, pv, until); err != nil {
		return nil, err
	}
	if c, has := absence.Explain(&in); has {
		return newNoData(c), nil
	}
	return nil, nil
}

// noDataNow says why a channel delivers no data, as far as its state shows it.
func noDataNow(s *capture.Status) *noData {
	if s.State == capture.Connected && !s.Silent {
		return nil
	}
	return newNoData(absence.OfStatus(s))
}

// noData writes the field of the same name, unless d is nil.
func (b *body) noData(d *noData) {
	if d == nil {
		return
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	b.Buf = append(append(b.Buf, `,"noData":`...), text...)
}
