package archiverstatus

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"varve.dev/varve/api/v1alpha1"
)

// wrongClocks names the engines whose clocks are wrong.
func wrongClocks(in *Input) []problem {
	var clocks []string
	for i := range in.Fleet {
		e := &in.Fleet[i]
		if e.Dead || e.Report == nil || e.Report.WrongClock == nil {
			continue
		}
		offset := time.Duration(e.Report.WrongClock.OffsetSeconds * float64(time.Second))
		clocks = append(clocks, e.Name+" ("+describeOffset(offset)+")")
	}
	if len(clocks) == 0 {
		return nil
	}
	slices.Sort(clocks)
	more := ""
	if n := len(clocks) - shown; n > 0 {
		clocks, more = clocks[:shown], fmt.Sprintf(" and %d more", n)
	}
	return []problem{{v1alpha1.ReasonEngineClockWrong, fmt.Sprintf(
		"the clock is wrong on the nodes of engines %s%s; good times of IOCs are kept, and nothing expires early: correct the time (NTP) of these nodes",
		strings.Join(clocks, ", "), more)}}
}

// describeOffset says how far a clock is from the time to which offset must be added. It rounds, so
// that the text rarely changes.
func describeOffset(offset time.Duration) string {
	way := "behind"
	if offset < 0 {
		way = "ahead"
	}
	amount := offset.Abs()
	switch {
	case amount >= 48*time.Hour:
		return fmt.Sprintf("%d days %s", int(amount.Hours()/24+0.5), way)
	case amount >= 2*time.Hour:
		return fmt.Sprintf("%d h %s", int(amount.Hours()+0.5), way)
	case amount >= 2*time.Minute:
		return fmt.Sprintf("%d min %s", int(amount.Minutes()+0.5), way)
	}
	return fmt.Sprintf("%d s %s", int(amount.Round(10*time.Second).Seconds()), way)
}
