package appliance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
)

// info is the state and the metadata of a PV that is captured now or was captured once.
type info struct {
	name     string // as the request has it
	captured bool
	status   capture.Status
	meta     sample.Metadata
}

// answerInfo answers a request about one PV: it encodes the result of format as JSON.
func (h *Handler) answerInfo(w http.ResponseWriter, r *http.Request, format func(i *info) any) {
	name := r.URL.Query().Get("pv")
	if name == "" {
		http.Error(w, "parameter pv: the name of a PV is required", http.StatusNotFound)
		return
	}
	i, err := h.info(r.Context(), name)
	switch {
	case errors.Is(err, query.ErrUnknownPV):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		h.fail(w, r, err)
	default:
		writeJSON(w, http.StatusOK, format(i))
	}
}

func (h *Handler) info(ctx context.Context, name string) (*info, error) {
	i := &info{name: name}
	i.meta.SetLimits(noLimits)
	var err error
	if i.status, i.captured, err = h.Channels.Status(ctx, pvname.Canonical(name)); err != nil {
		return nil, err
	}
	if !i.captured {
		known, err := h.Reader.Known(ctx, name)
		if err == nil && !known {
			err = query.ErrUnknownPV
		}
		if err != nil {
			return nil, fmt.Errorf("finding %s: %w", name, err)
		}
	}
	m, err := h.latest(ctx, name)
	if err != nil {
		return nil, err
	}
	if m != nil {
		i.meta = *m
	}
	if i.status.Type.Valid() {
		i.meta.Type, i.meta.Count = i.status.Type, i.status.Count
	} else if !i.meta.Type.Valid() {
		i.meta.Type, err = h.Reader.Type(ctx, name)
	}
	return i, err
}

var noLimits = [8]float64{
	math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(),
}

// typeInfo answers the type info of a PV, as the Appliance calls it. Most values are strings.
func (h *Handler) typeInfo(w http.ResponseWriter, r *http.Request) {
	h.answerInfo(w, r, func(i *info) any { return h.typeOf(i) })
}

func (h *Handler) typeOf(i *info) map[string]any {
	method, period := i.sampling()
	names, extra := make([]string, 0, len(i.meta.Properties)), map[string]string{}
	for _, p := range i.meta.Properties {
		names = append(names, valid(p.Name))
		extra[valid(p.Name)] = valid(p.Value)
	}
	m := &i.meta
	return map[string]any{
		"pvName": i.name, "DBRType": dbrType(m.Type), "scalar": strconv.FormatBool(!m.Type.IsArray()),
		"elementCount": strconv.Itoa(max(m.Count, 1)), "units": valid(m.Units), "precision": number(float64(m.Precision)),
		"lowerDisplayLimit": number(m.DisplayLow), "upperDisplayLimit": number(m.DisplayHigh),
		"lowerWarningLimit": number(m.WarnLow), "upperWarningLimit": number(m.WarnHigh),
		"lowerAlarmLimit": number(m.AlarmLow), "upperAlarmLimit": number(m.AlarmHigh),
		"lowerCtrlLimit": number(m.ControlLow), "upperCtrlLimit": number(m.ControlHigh),
		"hostName": i.host(), "applianceIdentity": h.Name, "paused": strconv.FormatBool(i.paused()),
		"samplingMethod": method, "samplingPeriod": period, "computedEventRate": number(i.status.Rate),
		"policyName": i.status.Group, "usePVAccess": strconv.FormatBool(i.captured && i.status.Provider == capture.PVA),
		"useDBEProperties": "true", "hasReducedDataSet": strconv.FormatBool(i.status.Retention.Levels[0] != 0),
		"archiveFields": names, "extraFields": extra, "dataStores": i.stores(),
	}
}

func (i *info) host() string {
	if i.status.Host != "" {
		return i.status.Host
	}
	return i.meta.Host
}

// stores returns the data stores of a captured PV: raw samples and rollups, each with its
// retention time.
func (i *info) stores() []string {
	out := []string{}
	if !i.captured {
		return out
	}
	out = append(out, "varve://raw?keep="+i.status.Retention.Raw.String())
	for _, l := range i.status.Retention.Levels {
		if l.Valid() {
			out = append(out, "varve://every-"+l.Every().String()+"?keep="+l.Tier().String())
		}
	}
	return out
}

// paused reports whether no engine captures the PV.
func (i *info) paused() bool { return !i.captured || i.status.State == capture.Paused }

// sampling returns the Appliance's name for the sampling method, and the period in
// seconds.
func (i *info) sampling() (method, seconds string) {
	scan, seconds := sampling(&i.status)
	return either(scan, "SCAN", "MONITOR"), seconds
}

// dbrType returns the Appliance's name for a type.
func dbrType(t sample.Type) string {
	if !t.Valid() {
		t = sample.Float64
	}
	p := payloadType(t)
	if p == pbStructure {
		return "DBR_V4_GENERIC_BYTES"
	}
	name := [...]string{"STRING", "SHORT", "FLOAT", "ENUM", "BYTE", "INT", "DOUBLE"}[p%pbArrays]
	if p >= pbArrays {
		return "DBR_WAVEFORM_" + name
	}
	return "DBR_SCALAR_" + name
}

// metadata answers the type info of a PV and its known fields.
func (h *Handler) metadata(w http.ResponseWriter, r *http.Request) {
	h.answerInfo(w, r, func(i *info) any {
		all := h.typeOf(i)
		maps.DeleteFunc(all, func(_ string, v any) bool { _, text := v.(string); return !text })
		for _, f := range fields(&i.meta) {
			all[f.name] = f.val
		}
		return all
	})
}
