package sample

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Severity is the EPICS alarm severity.
type Severity uint8

// Alarm severities, numbered as in EPICS base (alarm.h).
const (
	NoAlarm Severity = iota
	Minor
	Major
	Invalid
)

// String returns the EPICS name of the severity.
func (s Severity) String() string {
	switch s {
	case NoAlarm:
		return "NO_ALARM"
	case Minor:
		return "MINOR"
	case Major:
		return "MAJOR"
	case Invalid:
		return "INVALID"
	}
	return fmt.Sprintf("severity(%d)", uint8(s))
}

// Tag holds the alarm and the flags of a sample in a word. Bits 0–15 are the alarm status,
// bits 16–19 are the alarm severity, and the bits from 24 on are the flags below.
type Tag uint32

// Flags of a Tag.
const (
	// EngineClock means that the time comes from the engine's clock and not from the IOC's.
	EngineClock Tag = 1 << 24
	// CarriedForward marks a copy with which a bucket begins: the copy of the last sample
	// before the bucket. Sample counts leave it out, and readers show the sample at most once.
	CarriedForward Tag = 1 << 25
	// Elsewhere marks a sample without its value, because the value is too large to copy. If a
	// carried-forward sample lacks its value, a block at the time of the sample has it. The
	// latest sample in a channel's state can also lack its value.
	Elsewhere Tag = 1 << 26
)

// MakeTag packs a severity and a status, without flags.
func MakeTag(sev Severity, status uint16) Tag { return Tag(sev&0xf)<<16 | Tag(status) }

// Severity returns the alarm severity.
func (t Tag) Severity() Severity { return Severity(t >> 16 & 0xf) }

// Status returns the alarm status, numbered as in EPICS base (alarm.h).
func (t Tag) Status() uint16 { return uint16(t) }

// SameAlarm reports whether t and u have the same severity and status.
func (t Tag) SameAlarm(u Tag) bool { return (t^u)&0xfffff == 0 }

var statusNames = [...]string{
	"NO_ALARM", "READ", "WRITE", "HIHI", "HIGH", "LOLO", "LOW", "STATE", "COS", "COMM", "TIMEOUT",
	"HWLIMIT", "CALC", "SCAN", "LINK", "SOFT", "BAD_SUB", "UDF", "DISABLE", "SIMM", "READ_ACCESS", "WRITE_ACCESS",
}

// ParseStatus returns the alarm status with a name that StatusName returns. It returns false for other names.
func ParseStatus(name string) (uint16, bool) {
	if i := slices.Index(statusNames[:], name); i >= 0 {
		return uint16(i), true
	}
	number, found := strings.CutPrefix(name, "status(")
	number, closed := strings.CutSuffix(number, ")")
	n, err := strconv.ParseUint(number, 10, 16)
	return uint16(n), found && closed && err == nil
}

// StatusName returns the EPICS name of the alarm status, or its number.
func (t Tag) StatusName() string {
	if s := int(t.Status()); s < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", t.Status())
}
