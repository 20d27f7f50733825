package compare

import "time"

// Kind is a way in which two archives differ.
type Kind string

// Kinds of differences. "Here" is the first archive, and "there" the second one.
const (
	MissingHere  Kind = "missing here"
	MissingThere Kind = "missing there"
	Value        Kind = "value"
	Time         Kind = "time stamp"
	Alarm        Kind = "alarm"
	Type         Kind = "type"
)

// Kinds are all kinds, in the order of tables.
var Kinds = []Kind{MissingHere, MissingThere, Value, Time, Alarm, Type}

// Difference is a sample in which two archives differ.
type Difference struct {
	Kind Kind `json:"kind"`
	// At is the time of the sample here, or there if it is missing here.
	At time.Time `json:"at"`
	// Here and There are what each archive has: a value, a time, an alarm or a type. The text is empty if
	// the sample is missing.
	Here  string `json:"here,omitempty"`
	There string `json:"there,omitempty"`
}

// Result is the result for one PV.
type Result struct {
	PV string `json:"pv"`
	// Here and There count the samples in each archive, and Equal those that are the same in both.
	Here  uint64 `json:"here"`
	There uint64 `json:"there"`
	Equal uint64 `json:"equal"`
	// Counts has the number of differences of each kind. A sample may differ in its value and in its alarm.
	Counts map[Kind]uint64 `json:"counts"`
	// Examples are the first differences of each kind.
	Examples []Difference `json:"examples,omitempty"`
	// UnknownHere and UnknownThere are true if an archive does not know the PV.
	UnknownHere  bool `json:"unknownHere,omitempty"`
	UnknownThere bool `json:"unknownThere,omitempty"`
	// Error says why the comparison ended early. The counts are then those of a part of the range.
	Error string `json:"error,omitempty"`
}

// Differences returns the number of all differences.
func (r *Result) Differences() (n uint64) {
	for _, c := range r.Counts {
		n += c
	}
	return n
}

// Differs reports whether the archives differ in a sample, or only one of them knows the PV.
func (r *Result) Differs() bool { return r.Differences() > 0 || r.UnknownHere != r.UnknownThere }
