package upstream

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"varve.dev/varve/engine/pbfile"
	"varve.dev/varve/engine/sample"
)

// Describe returns the type of the samples of a PV and its metadata at a time, in ns since 1970. It returns nil if the
// archive knows the PV but sends no type. The error is ErrUnknownPV if the archive does not know the PV.
func (a *Appliance) Describe(ctx context.Context, pv string, at int64) (*sample.Metadata, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m, err := a.describe(ctx, cancel, pv, at)
	if err != nil {
		return nil, a.failed(ctx, pv, err)
	}
	return m, nil
}

func (a *Appliance) describe(ctx context.Context, cancel context.CancelCauseFunc, pv string, at int64) (*sample.Metadata, error) {
	resp, in, err := a.getData(ctx, cancel, pv, at-int64(time.Second), at, "fetchLatestMetadata")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	h, err := pbfile.NewReader(in).Header()
	if errors.Is(err, pbfile.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := checker{pv: pv}
	return ofHeader(&h), c.named(&h)
}

// noLimits are the limits of a PV that has none.
var noLimits = [8]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}

const (
	// maxPrecision is the largest number of digits that a record may ask for.
	maxPrecision = 100
	// maxLabels is the largest number of states of an enumeration.
	maxLabels = 1024
)

// ofHeader returns the metadata that a header has.
func ofHeader(h *pbfile.Header) *sample.Metadata {
	m := &sample.Metadata{Type: h.Type, Count: max(h.Elements, 1)}
	m.SetLimits(noLimits)
	limits := map[string]*float64{
		"LOPR": &m.DisplayLow, "HOPR": &m.DisplayHigh, "LOW": &m.WarnLow, "HIGH": &m.WarnHigh,
		"LOLO": &m.AlarmLow, "HIHI": &m.AlarmHigh, "DRVL": &m.ControlLow, "DRVH": &m.ControlHigh,
	}
	labels := map[int]string{}
	for _, f := range h.Fields {
		state, isState := strings.CutPrefix(f.Name, "ENUM_")
		switch {
		case f.Name == "EGU":
			m.Units = f.Value
		case f.Name == "PREC":
			if v, err := strconv.ParseFloat(f.Value, 64); err == nil && v >= 0 && v <= maxPrecision {
				m.Precision = int(v)
			}
		case limits[f.Name] != nil:
			if v, err := strconv.ParseFloat(f.Value, 64); err == nil {
				*limits[f.Name] = v
			}
		case isState:
			if n, err := strconv.Atoi(state); err == nil && n >= 0 && n < maxLabels {
				labels[n] = f.Value
			}
		}
	}
	for i := range len(labels) { // a list without holes
		label, found := labels[i]
		if !found {
			break
		}
		m.Labels = append(m.Labels, label)
	}
	return m
}
