package rdb

import (
	"strings"

	"varve.dev/varve/engine/sample"
)

// states maps the names in the table status that mean "no value", in lower case, to kinds of marks.
var states = map[string]sample.MarkKind{
	"disconnected": sample.Disconnected, "archive_off": sample.Stopped, "archive_disabled": sample.Paused,
	"write_error": sample.Stopped,
}

// notANumber is the status of samples whose value was NaN. Their stored value is 0.
const notANumber = "nan"

// statusNumbers are the numbers of the alarm states by name.
var statusNumbers = func() map[string]uint16 {
	out := map[string]uint16{"": 0, "OK": 0, "NONE": 0, "NO": 0}
	for n := uint16(0); ; n++ {
		name := sample.MakeTag(0, n).StatusName()
		if strings.HasPrefix(name, "status(") {
			return out
		}
		out[name] = n
	}
}()

// statusNumber returns the number of an alarm status in EPICS base, whose name may end with _ALARM.
func statusNumber(name string) (n uint16, known bool) {
	n, known = statusNumbers[strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(name)), "_ALARM")]
	return n, known
}

// severity returns the severity of a name in the table severity.
func severity(name string) (s sample.Severity, known bool) {
	switch strings.ToUpper(strings.TrimSpace(name)) {
	case "", "OK", "NONE", "NO_ALARM":
		return sample.NoAlarm, true
	case "MINOR":
		return sample.Minor, true
	case "MAJOR":
		return sample.Major, true
	case "INVALID", "UNDEFINED":
		return sample.Invalid, true
	}
	return sample.Invalid, false
}
