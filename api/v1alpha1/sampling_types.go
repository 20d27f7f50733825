package v1alpha1

// Sampling has no defaults in the schema. A channel's sampling overrides the group's field by
// field, and a default would override too.

// Sampling defines which updates of a PV are stored, and with which time stamp.
//
// +kubebuilder:validation:XValidation:rule="has(self.period) || !has(self.mode) || self.mode != 'Scan'",fieldPath=".period",reason=FieldValueRequired,message="period is required for mode Scan"
// +kubebuilder:validation:XValidation:rule="!has(self.period) || has(self.mode) && self.mode == 'Scan'",fieldPath=".period",message="period requires mode Scan"
// +kubebuilder:validation:XValidation:rule="!has(self.deadband) || !has(self.mode) || self.mode != 'Scan'",fieldPath=".deadband",message="deadband requires mode Monitor"
// +kubebuilder:validation:XValidation:rule="!has(self.maxRate) || !has(self.mode) || self.mode != 'Scan'",fieldPath=".maxRate",message="maxRate requires mode Monitor"
// +kubebuilder:validation:XValidation:rule="!has(self.clockLimit) || !has(self.clock) || self.clock != 'Engine'",fieldPath=".clockLimit",message="clockLimit requires clock Source"
type Sampling struct {
	// mode is Monitor (every update that passes the filters, the default) or
	// Scan (the value at each multiple of period).
	// +optional
	Mode SamplingMode `json:"mode,omitempty"`

	// period is the sampling period of mode Scan. It is at least 100ms.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[0-9]+(ms|s|m|h|d|w|y)$') || self.matches('^0*([1-9][0-9]{2,}ms|[1-9][0-9]*(s|m|h|d|w|y))$')",message="period must be at least 100ms"
	Period *Duration `json:"period,omitempty"`

	// events are the classes of updates to request from the IOC: Log (changes beyond the record's
	// ADEL), Value (changes beyond its MDEL) and Alarm (changes of the alarm state). Default: Log
	// and Alarm.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	Events []EventClass `json:"events,omitempty"`

	// deadband drops updates that differ little from the last stored value. Changes of the alarm
	// state are always stored. Default: none.
	// +optional
	Deadband *Deadband `json:"deadband,omitempty"`

	// maxRate is the maximum number of samples per second of a PV. 0, the default, is no limit.
	// It is a float, because rates below one per second are common.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	MaxRate *float64 `json:"maxRate,omitempty"`

	// maxPeriod is the length of intervals, which begin at multiples of it since 1970. If a PV has no sample in an
	// interval, the engine reads its value from the IOC, and stores it with the beginning of the interval as its
	// time. A flag says that this is not the IOC's time. It is at least 1s. Default: none.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[0-9]+(ms|s|m|h|d|w|y)$') || self.matches('^0*([1-9][0-9]{3,}ms|[1-9][0-9]*(s|m|h|d|w|y))$')",message="maxPeriod must be at least 1s"
	MaxPeriod *Duration `json:"maxPeriod,omitempty"`

	// clock is the clock that time stamps a sample: Source (the IOC, the default) or Engine (the
	// time of arrival).
	// +optional
	Clock Clock `json:"clock,omitempty"`

	// clockLimit guards against IOCs with a wrong clock.
	// +optional
	ClockLimit *ClockLimit `json:"clockLimit,omitempty"`
}

// SamplingMode is how the samples to store are selected.
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

// Clock is the clock that time stamps a sample.
//
// +kubebuilder:validation:Enum=Source;Engine
type Clock string

// Clocks.
const (
	SourceClock Clock = "Source"
	EngineClock Clock = "Engine"
)

// Deadband drops an update if it is within any of the limits of the last stored value. Limits are
// floats, as values of PVs are.
//
// +kubebuilder:validation:XValidation:rule="!has(self.heartbeat) || has(self.absolute) || has(self.relative) || has(self.unchanged) && self.unchanged",fieldPath=".heartbeat",message="heartbeat requires absolute, relative or unchanged: otherwise every update is stored"
type Deadband struct {
	// absolute is a difference in the unit of the PV. 0 disables it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Absolute float64 `json:"absolute,omitempty"`
	// relative is a difference as a fraction of the last stored value: 0.01 is one percent. 0
	// disables it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	// +kubebuilder:validation:ExclusiveMaximum=true
	Relative float64 `json:"relative,omitempty"`
	// unchanged drops an update whose value equals the last stored value in every bit. It works for
	// values of all types, also for strings, enumerations and arrays.
	// +optional
	Unchanged bool `json:"unchanged,omitempty"`
	// heartbeat stores the first update in each interval of this length, even if it is within the
	// deadband. The intervals are multiples of heartbeat since 1970, by the time of the samples. It is
	// at least 1s. Default: none. If the IOC sends no update, nothing is stored.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[0-9]+(ms|s|m|h|d|w|y)$') || self.matches('^0*([1-9][0-9]{3,}ms|[1-9][0-9]*(s|m|h|d|w|y))$')",message="heartbeat must be at least 1s"
	Heartbeat *Duration `json:"heartbeat,omitempty"`
}

// ClockLimit is how much the IOC's time can differ from the time of arrival. The first sample
// after connecting can have any age.
type ClockLimit struct {
	// ahead is how far the IOC's time can be ahead of the arrival. 0s is no limit. Default: 5m.
	// +optional
	Ahead *Duration `json:"ahead,omitempty"`
	// behind is how far the IOC's time can be behind the arrival. 0s is no limit. Default: 1d.
	// +optional
	Behind *Duration `json:"behind,omitempty"`
	// onExceeded is what happens to a sample outside the limits: Restamp (the default) stores it
	// with the engine's time; Refuse drops it. Both are counted.
	// +optional
	OnExceeded ClockAction `json:"onExceeded,omitempty"`
}

// ClockAction is what happens to a sample outside the clock limit.
//
// +kubebuilder:validation:Enum=Restamp;Refuse
type ClockAction string

// Clock actions.
const (
	Restamp ClockAction = "Restamp"
	Refuse  ClockAction = "Refuse"
)
