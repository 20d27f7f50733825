package migration

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/pvname"
)

// text is a value of JSON as text. The Appliance writes numbers and booleans as strings; other tools that
// export its configuration do not.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(t))
	}
	if string(b) != "null" {
		*t = text(b)
	}
	return nil
}

func (t text) isTrue() bool { return strings.EqualFold(string(t), "true") }

// typeInfo is the PVTypeInfo of a PV, as far as it says how the PV is archived.
type typeInfo struct {
	PVName         string   `json:"pvName"`
	PolicyName     string   `json:"policyName"`
	SamplingMethod string   `json:"samplingMethod"`
	SamplingPeriod text     `json:"samplingPeriod"`
	Paused         text     `json:"paused"`
	UsePVAccess    text     `json:"usePVAccess"`
	ControllingPV  string   `json:"controllingPV"`
	ArchiveFields  []string `json:"archiveFields"`
	DataStores     []string `json:"dataStores"`
}

// Appliance reads the type info of the PVs of an Archiver Appliance: the answer of exportConfig, which
// has all PVs, or that of getPVTypeInfo, which has one. It holds one PV in memory beside the result.
func Appliance(in io.Reader) (*Source, error) {
	s := &Source{Kind: "appliance"}
	d := json.NewDecoder(in)
	err := eachTypeInfo(d, func(raw json.RawMessage) error {
		var t typeInfo
		if err := json.Unmarshal(raw, &t); err != nil {
			return err
		}
		if t.PVName == "" {
			return errors.New("pvName is missing")
		}
		s.addTypeInfo(&t)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of the Archiver Appliance: PV %d, byte %d: %w", len(s.Channels)+s.LeftOut()+1, d.InputOffset(), err)
	}
	s.normalize()
	return s, nil
}

// eachTypeInfo calls add with each element of an array, or with the only object.
func eachTypeInfo(d *json.Decoder, add func(json.RawMessage) error) error {
	first, err := d.Token()
	if err != nil {
		return err
	}
	switch first {
	case json.Delim('['):
	case json.Delim('{'):
		raw, err := restOfObject(d)
		if err != nil {
			return err
		}
		return errors.Join(add(raw), atEnd(d))
	default:
		return fmt.Errorf("the text begins with %v; it must be the answer of exportConfig or getPVTypeInfo", first)
	}
	for d.More() {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		if err := add(raw); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	return atEnd(d)
}

// restOfObject returns an object whose first brace was read.
func restOfObject(d *json.Decoder) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		fields[fmt.Sprint(key)] = v
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

func atEnd(d *json.Decoder) error {
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more text after the end of the configuration")
	}
	return nil
}

// addTypeInfo adds a PV.
func (s *Source) addTypeInfo(t *typeInfo) {
	c := Channel{Policy: t.PolicyName, Settings: Settings{Provider: v1alpha1.ChannelAccess, Paused: t.Paused.isTrue()}}
	if t.UsePVAccess.isTrue() {
		c.Settings.Provider = v1alpha1.PVAccess
	}
	switch strings.ToUpper(t.SamplingMethod) {
	case "MONITOR", "": // the period reserves memory, and drops samples of faster PVs
	case "SCAN":
		seconds, err := strconv.ParseFloat(string(t.SamplingPeriod), 64)
		if err != nil {
			s.leaveOut(t.PVName, "the scan period %q is not a number", string(t.SamplingPeriod))
			return
		}
		if !s.setPeriod(t.PVName, &c, seconds) {
			return
		}
	case "DONT_ARCHIVE":
		s.leaveOut(t.PVName, "the Appliance does not archive it: its sampling method is DONT_ARCHIVE")
		return
	default:
		s.leaveOut(t.PVName, "the sampling method %q is unknown", t.SamplingMethod)
		return
	}
	if t.ControllingPV != "" {
		s.enable(t.PVName, &c, t.ControllingPV)
	}
	c.Settings.Properties = s.properties(t.PVName, t.ArchiveFields)
	s.stores(t.PVName, &c.Settings, t.DataStores)
	s.add(t.PVName, c)
}

// enable makes another PV enable the capture.
func (s *Source) enable(pv string, c *Channel, by string) {
	if err := pvname.Check(pvname.Canonical(by)); err != nil {
		s.differ(pv, "the Appliance archives it only while %.100q allows it; Varve always does, because this is no name of a PV: %v", by, err)
		return
	}
	c.Settings.EnabledBy = pvname.Canonical(by)
}

// inMetadata are fields that Varve always archives.
var inMetadata = strings.Fields(`EGU PREC HOPR LOPR HIHI HIGH LOW LOLO DRVH DRVL
	ZNAM ONAM ZRST ONST TWST THST FRST FVST SXST SVST EIST NIST TEST ELST TVST TTST FTST FFST`)

// field is a valid name of a property.
var field = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,31}$`)

// maxProperties is the maximum number of properties of a group.
const maxProperties = 16

// properties returns the properties for fields that the Appliance archives with a PV.
func (s *Source) properties(pv string, fields []string) string {
	var out []string
	for _, f := range fields {
		switch {
		case slices.Contains(inMetadata, f) || f == "VAL":
		case !field.MatchString(f):
			s.differ(pv, "its field %q is not archived: the name is not that of a field of a record", f)
		default:
			out = append(out, f)
		}
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) > maxProperties {
		s.differ(pv, "its fields %s are not archived: Varve archives at most %d fields of a PV", strings.Join(out[maxProperties:], ","), maxProperties)
		out = out[:maxProperties]
	}
	return strings.Join(out, ",")
}
