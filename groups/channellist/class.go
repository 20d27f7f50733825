package channellist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/condition"
	"varve.dev/varve/engine/pvname"
)

// class is the JSON form of settings. Decoding rejects unknown fields, because an engine must
// not ignore a setting.
type class struct {
	Provider   string   `json:"provider,omitempty"`
	Fields     []string `json:"fields,omitempty"`
	Properties []string `json:"properties,omitempty"`
	Mode       string   `json:"mode"`
	Period     string   `json:"period,omitempty"`
	Events     []string `json:"events,omitempty"`
	Absolute   float64  `json:"absolute,omitempty"`
	Relative   float64  `json:"relative,omitempty"`
	Unchanged  bool     `json:"unchanged,omitempty"`
	Heartbeat  string   `json:"heartbeat,omitempty"`
	MaxRate    float64  `json:"maxRate,omitempty"`
	MaxPeriod  string   `json:"maxPeriod,omitempty"`
	Clock      string   `json:"clock"`
	Ahead      string   `json:"ahead,omitempty"`
	Behind     string   `json:"behind,omitempty"`
	OnClock    string   `json:"onClock"`
	Paused     bool     `json:"paused,omitempty"`
	Because    string   `json:"because,omitempty"`
	EnabledBy  string   `json:"enabledBy,omitempty"`
	Raw        string   `json:"raw,omitempty"`
	Rollups    []string `json:"rollups,omitempty"`
}

// Words for the values of enumerations, by value.
var (
	providers = []string{capture.CA: "", capture.PVA: "PVA"} // CA is empty for compatibility with older lists
	modes     = []string{capture.Monitor: "Monitor", capture.Scan: "Scan"}
	clocks    = []string{capture.SourceClock: "Source", capture.EngineClock: "Engine"}
	actions   = []string{capture.Restamp: "Restamp", capture.Refuse: "Refuse"}
	events    = []struct {
		bit  capture.Events
		word string
	}{{capture.EventLog, "Log"}, {capture.EventAlarm, "Alarm"}, {capture.EventValue, "Value"}}
)

// encodeClass returns the JSON form of settings, null for none.
func encodeClass(s *capture.Settings) []byte {
	if s == nil {
		return []byte("null")
	}
	c := class{
		Provider: providers[s.Provider], Fields: encodeNames(s.Fields), Properties: encodeNames(s.Properties),
		Mode: modes[s.Mode], Period: encodeDuration(s.Period),
		Absolute: s.Absolute, Relative: s.Relative, Unchanged: s.Unchanged, Heartbeat: encodeDuration(s.Heartbeat), MaxRate: s.MaxRate,
		Clock: clocks[s.Clock], Ahead: encodeDuration(s.Ahead), Behind: encodeDuration(s.Behind), OnClock: actions[s.OnClock],
		Paused: s.Paused, Because: s.PauseReason, EnabledBy: s.EnabledBy, MaxPeriod: encodeDuration(s.MaxPeriod), Raw: encodeTier(s.Retention.Raw), Rollups: encodeLevels(s.Retention.Levels),
	}
	for _, e := range events {
		if s.Events&e.bit != 0 {
			c.Events = append(c.Events, e.word)
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		panic("BUG: encoding settings as JSON: " + err.Error())
	}
	return text
}

// encodeNames splits names that are separated by commas.
func encodeNames(names string) []string {
	if names == "" {
		return nil
	}
	return strings.Split(names, ",")
}

func encodeDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// decodeClass is the inverse of encodeClass.
func decodeClass(text []byte) (*capture.Settings, error) {
	if string(text) == "null" {
		return nil, nil
	}
	var c class
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there are bytes after the object")
	}
	return c.settings()
}

func (c *class) settings() (*capture.Settings, error) {
	s := &capture.Settings{
		Absolute: c.Absolute, Relative: c.Relative, Unchanged: c.Unchanged, MaxRate: c.MaxRate, Paused: c.Paused, PauseReason: c.Because,
		EnabledBy: c.EnabledBy,
	}
	var errs [15]error
	s.Mode, errs[0] = fromWord[capture.Mode]("mode", modes, c.Mode)
	s.Clock, errs[1] = fromWord[capture.Clock]("clock", clocks, c.Clock)
	s.OnClock, errs[2] = fromWord[capture.ClockAction]("onClock", actions, c.OnClock)
	s.Period, errs[3] = decodeDuration("period", c.Period)
	s.Ahead, errs[4] = decodeDuration("ahead", c.Ahead)
	s.Behind, errs[5] = decodeDuration("behind", c.Behind)
	s.Events, errs[6] = decodeEvents(c.Events)
	s.Provider, errs[7] = fromWord[capture.Provider]("provider", providers, c.Provider)
	s.Fields, errs[8] = decodeNames("field", c.Fields)
	s.Properties, errs[9] = decodeNames("property", c.Properties)
	s.Retention.Raw, errs[10] = decodeTier(c.Raw)
	s.Retention.Levels, errs[11] = decodeLevels(c.Rollups)
	s.Heartbeat, errs[12] = decodeDuration("heartbeat", c.Heartbeat)
	errs[13] = checkEnabledBy(c.EnabledBy)
	s.MaxPeriod, errs[14] = decodeDuration("maxPeriod", c.MaxPeriod)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	if s.Mode == capture.Scan && s.Period == 0 {
		return nil, errors.New("mode Scan has no period")
	}
	if s.Absolute < 0 || s.Relative < 0 || s.MaxRate < 0 {
		return nil, errors.New("a deadband or a rate is negative")
	}
	return s, nil
}

// checkEnabledBy checks a PV that enables channels, and the condition on its value.
func checkEnabledBy(text string) error {
	if text == "" {
		return nil
	}
	pv, when, _ := strings.Cut(text, " ")
	if pv != pvname.Scheme(pv)+"://"+pvname.Canonical(pv) {
		return fmt.Errorf("enabledBy %q is not a name with its provider", pv)
	}
	if err := pvname.Check(pvname.Canonical(pv)); err != nil {
		return fmt.Errorf("enabledBy: %w", err)
	}
	if _, err := condition.Parse(when); err != nil {
		return fmt.Errorf("enabledBy: %w", err)
	}
	return nil
}

func decodeNames(what string, names []string) (string, error) {
	for i, name := range names {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == ',' || r > '~' }) {
			return "", fmt.Errorf("%s %q is not a valid name", what, name)
		}
		if i > 0 && name <= names[i-1] {
			return "", fmt.Errorf("%s %q is not sorted", what, name)
		}
	}
	return strings.Join(names, ","), nil
}

func fromWord[T ~uint8](field string, words []string, word string) (T, error) {
	for i, w := range words {
		if w == word {
			return T(i), nil
		}
	}
	return 0, fmt.Errorf("%s %q is unknown", field, word)
}

func decodeDuration(field, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err == nil && d <= 0 {
		err = fmt.Errorf("%q is not positive", text)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", field, err)
	}
	return d, nil
}

func decodeEvents(words []string) (out capture.Events, err error) {
next:
	for _, word := range words {
		for _, e := range events {
			if e.word == word {
				out |= e.bit
				continue next
			}
		}
		return 0, fmt.Errorf("event %q is unknown", word)
	}
	return out, nil
}
