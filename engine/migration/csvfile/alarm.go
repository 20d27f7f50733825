package csvfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve.dev/varve/engine/sample"
)

// states are the texts of rows without a value, in lower case, and the kinds of their marks.
var states = map[string]sample.MarkKind{
	"disconnected": sample.Disconnected, "archive_off": sample.Stopped, "archive_disabled": sample.Paused,
}

// isRepeat reports whether the text of an alarm says that the Channel Archiver has repeated the value before.
func isRepeat(text string) bool {
	return strings.HasPrefix(text, "Repeat ") || strings.HasPrefix(text, "Est_Repeat ")
}

var severities = []string{"NO_ALARM", "MINOR", "MAJOR", "INVALID"}

// parseAlarm returns the tag of a severity and a status: names, numbers, or empty.
func parseAlarm(severity, status string) (sample.Tag, error) {
	sev := slices.Index(severities, strings.ToUpper(severity))
	if sev < 0 && severity != "" {
		n, err := strconv.ParseUint(severity, 10, 8)
		if err != nil || int(n) >= len(severities) {
			return 0, fmt.Errorf("the severity %.60q is not one of NO_ALARM, MINOR, MAJOR and INVALID, or 0 to 3", severity)
		}
		sev = int(n)
	}
	number, known := sample.ParseStatus(strings.ToUpper(status))
	if !known && status != "" {
		n, err := strconv.ParseUint(status, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("the status %.60q is not a status of EPICS base, such as HIHI, or its number", status)
		}
		number = uint16(n)
	}
	return sample.MakeTag(sample.Severity(max(sev, 0)), number), nil
}
