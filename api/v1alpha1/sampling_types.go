package v1alpha1

// Sampling has no defaults in the schema, since a channel's sampling overrides
// the group's field by field: a default there would override as well.

// Sampling says which updates of a PV are stored, and under which time.
//
// +kubebuilder:validation:XValidation:rule="has(self.period) || !has(self.mode) || self.mode != 'Scan'",fieldPath=".period",reason=FieldValueRequired,message="mode Scan needs a period"
// +kubebuilder:validation:XValidation:rule="!has(self.period) || has(self.mode) && self.mode == 'Scan'",fieldPath=".period",message="period is for mode Scan only"
// +kubebuilder:validation:XValidation:rule="!has(self.deadband) || !has(self.mode) || self.mode != 'Scan'",fieldPath=".deadband",message="deadband is for mode Monitor only"
// +kubebuilder:validation:XValidation:rule="!has(self.maxRate) || !has(self.mode) || self.mode != 'Scan'",fieldPath=".maxRate",message="maxRate is for mode Monitor only"
// +kubebuilder:validation:XValidation:rule="!has(self.clockLimit) || !has(self.clock) || self.clock != 'Engine'",fieldPath=".clockLimit",message="clockLimit is for clock Source only"
type Sampling struct {
	// mode is Monitor (every update that passes the filters, the default) or
	// Scan (the value at each multiple of period).
	// +optional
	Mode SamplingMode `json:"mode,omitempty"`

	// period of mode Scan, at least 100ms.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[0-9]+(ms|s|m|h|d|w|y)$') || self.matches('^0*([1-9][0-9]{2,}ms|[1-9][0-9]*(s|m|h|d|w|y))$')",message="period must be at least 100ms"
	Period *Duration `json:"period,omitempty"`

	// events are the classes of updates to ask the IOC for: Log (past the
	// record's ADEL), Value (past its MDEL), Alarm (changes of alarm).
	// Default: Log and Alarm.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	Events []EventClass `json:"events,omitempty"`

	// deadband drops updates that differ little from the last stored value.
	// Default: none. Changes of alarm always pass.
	// +optional
	Deadband *Deadband `json:"deadband,omitempty"`

	// maxRate is the most samples per second of a PV; 0, the default, is no
	// limit. It is a float: rates below one per second are common.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	MaxRate *float64 `json:"maxRate,omitempty"`

	// clock is whose time a sample gets: Source (the IOC's, the default) or
	// Engine (the time of arrival).
	// +optional
	Clock Clock `json:"clock,omitempty"`

	// clockLimit guards against IOCs with a wrong clock.
	// +optional
	ClockLimit *ClockLimit `json:"clockLimit,omitempty"`
}

// SamplingMode is how samples are taken from updates.
//
// +kubebuilder:validation:Enum=Monitor;Scan
type SamplingMode string

// Sampling modes.
const (
	Monitor SamplingMode = "Monitor"
	Scan    SamplingMode = "Scan"
)

// EventClass is a class of updates that an IOC posts.
//
// +kubebuilder:validation:Enum=Log;Alarm;Value
type EventClass string

// Event classes: DBE_LOG, DBE_ALARM and DBE_VALUE of Channel Access.
const (
	LogEvents   EventClass = "Log"
	AlarmEvents EventClass = "Alarm"
	ValueEvents EventClass = "Value"
)

// Clock is whose time a sample gets.
//
// +kubebuilder:validation:Enum=Source;Engine
type Clock string

// Clocks.
const (
	SourceClock Clock = "Source"
	EngineClock Clock = "Engine"
)

// Deadband drops an update if it is within either limit of the last stored
// value. Limits are floats: they are compared with values of PVs, which are.
type Deadband struct {
	// absolute difference, in the PV's unit; 0 is off.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Absolute float64 `json:"absolute,omitempty"`
	// relative difference, as a part of the last stored value: 0.01 is one
	// percent; 0 is off.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	// +kubebuilder:validation:ExclusiveMaximum=true
	Relative float64 `json:"relative,omitempty"`
}

// ClockLimit says how far the IOC's time may be from the time of arrival. The
// first sample after connecting is kept however old it is.
type ClockLimit struct {
	// ahead of the arrival. Default 5m; 0s is no limit.
	// +optional
	Ahead *Duration `json:"ahead,omitempty"`
	// behind the arrival. Default 1d; 0s is no limit.
	// +optional
	Behind *Duration `json:"behind,omitempty"`
	// onExceeded is Restamp (store under the engine's clock, the default) or
	// Refuse (drop). Both are counted.
	// +optional
	OnExceeded ClockAction `json:"onExceeded,omitempty"`
}

// ClockAction is what happens to a sample outside of the clock limit.
//
// +kubebuilder:validation:Enum=Restamp;Refuse
type ClockAction string

// Clock actions.
const (
	Restamp ClockAction = "Restamp"
	Refuse  ClockAction = "Refuse"
)
