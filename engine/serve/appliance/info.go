package appliance

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/absence"
)

// info is the state and the metadata of a PV that is captured now or was captured once.
type info struct {
	name     string // as the request has it
	captured bool
	status   capture.Status
	meta     sample.Metadata
	fieldOf  string // the PV, if the name is a field of it
}

// infoOf returns the PV of a call about one PV.
func (h *Handler) infoOf(a args) (*info, error) {
	name, err := a.pv()
	if err != nil {
		return nil, err
	}
	return h.info(a.r.Context(), name)
}

func (h *Handler) info(ctx context.Context, name string) (*info, error) {
	i := &info{name: name}
	s, err := h.stateOfName(ctx, name)
	if err != nil {
		return nil, err
	}
	i.status, i.captured = s.status, s.captured
	if s.isField {
		i.fieldOf, i.status = s.pv, ofField(&s.status)
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
	return i, h.describeInfo(ctx, i)
}

// describeInfo sets the metadata of a PV. It needs the name and the state.
func (h *Handler) describeInfo(ctx context.Context, i *info) error {
	i.meta.SetLimits(noLimits)
	if i.status.Metadata != nil {
		i.meta = *i.status.Metadata
	} else if m, found, err := h.Reader.Metadata(ctx, i.name, h.Now().UnixNano()); err != nil {
		return err
	} else if found {
		i.meta = m
	}
	var err error
	if i.status.Type.Valid() {
		i.meta.Type, i.meta.Count = i.status.Type, i.status.Count
	} else if !i.meta.Type.Valid() {
		i.meta.Type, err = h.Reader.Type(ctx, i.name)
	}
	return err
}

var noLimits = [8]float64{
	math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(),
}

// typeInfo answers the type info of a PV, as the Appliance calls it. Most values are strings.
func (h *Handler) typeInfo(a args) (any, error) {
	i, err := h.typedInfo(a)
	if err != nil {
		return nil, err
	}
	return h.datedTypeOf(a.r.Context(), i)
}

// datedTypeOf returns the type info of a PV with the times of its creation and last modification.
func (h *Handler) datedTypeOf(ctx context.Context, i *info) (map[string]any, error) {
	all, pv := h.typeOf(i), pvname.Canonical(i.name)
	added, modified := past{pv: pv}, past{pv: pv}
	if err := h.readAdded(ctx, &added); err != nil {
		return nil, err
	}
	if err := h.readModified(ctx, &modified); err != nil {
		return nil, err
	}
	if added.at != 0 {
		all["creationTime"], all["modificationTime"] = iso(added.at), iso(max(added.at, modified.at))
	}
	return all, nil
}

func iso(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000Z") }

// typedInfo returns the PV of a call about one PV. For a PV that never connected it returns an error,
// as the Appliance does for a PV without type info, because its type is not known.
func (h *Handler) typedInfo(a args) (*info, error) {
	i, err := h.infoOf(a)
	if err != nil || i.meta.Type.Valid() {
		return i, err
	}
	text := i.name + " has no type info, because it has never connected"
	c, has, err := h.cause(a.r.Context(), i.name)
	if err == nil && has {
		text += ": " + c.Text
	}
	return nil, notFound("%s", text)
}

// cause says why no samples of a PV arrive. It returns false if they arrive.
func (h *Handler) cause(ctx context.Context, name string) (absence.Cause, bool, error) {
	now := h.Now().UnixNano()
	s, err := h.stateOfName(ctx, name)
	if err != nil {
		return absence.Cause{}, false, err
	}
	in := absence.Input{Until: now, Now: now, Status: s.status, Captured: s.captured}
	if in.Mark, in.Marked, err = h.Reader.StateMark(ctx, s.pv, now); err != nil {
		return absence.Cause{}, false, err
	}
	if !in.Captured && !in.Marked {
		return absence.Cause{}, false, nil // an unknown PV
	}
	c, has := absence.Explain(&in)
	return c, has, nil
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
		"samplingMethod": method, "samplingPeriod": period, "computedEventRate": number(i.status.Rate), "computedStorageRate": number(i.status.StorageRate()),
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

// storeScheme begins the URLs of data stores.
const storeScheme = "varve://"

// stores returns the data stores of a captured PV: raw samples and rollups, each with its
// retention time.
func (i *info) stores() []string {
	out := []string{}
	if !i.captured || i.fieldOf != "" { // a field is stored with the metadata of its PV
		return out
	}
	out = append(out, storeScheme+"raw?keep="+i.status.Retention.Raw.String())
	for _, l := range i.status.Retention.Levels {
		if l.Valid() {
			out = append(out, storeScheme+"every-"+l.Every().String()+"?keep="+l.Tier().String())
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
func (h *Handler) metadata(a args) (any, error) {
	i, err := h.typedInfo(a)
	if err != nil {
		return nil, err
	}
	all, err := h.datedTypeOf(a.r.Context(), i)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(all, func(_ string, v any) bool { _, text := v.(string); return !text })
	for _, f := range recordFields(&i.meta) {
		all[f.name] = f.val
	}
	return all, nil
}

// storesForPV answers where the samples of a PV are, by the name of the store.
func (h *Handler) storesForPV(a args) (any, error) {
	i, err := h.infoOf(a)
	if err != nil {
		return nil, err
	}
	stores := map[string]string{}
	for _, url := range i.stores() {
		name, _, _ := strings.Cut(strings.TrimPrefix(url, storeScheme), "?")
		stores[name] = url
	}
	return stores, nil
}
