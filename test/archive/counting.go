package archive

import (
	"fmt"
	"strings"
)

// Step is the amount by which a counting PV rises. Adding Step to a value gives exactly the
// IOC's next value, equal in every bit.
const Step = 0.1

// Counting returns an EPICS database with a record per PV that rises by Step ten times per
// second. Each record is in alarm from the value 3 on, after about three seconds.
func Counting(pvs []string) string {
	var db strings.Builder
	for _, pv := range pvs {
		fmt.Fprintf(&db, `record(calc, "%s") {
			field(SCAN, ".1 second") field(CALC, "A+0.1") field(INPA, "%[1]s.VAL") field(EGU, "mA") field(PREC, "1")
			field(HIGH, "3") field(HSV, "MINOR") field(HIHI, "6") field(HHSV, "MAJOR")
		}`, pv)
	}
	return db.String()
}

// Names returns n PV names with the given prefix.
func Names(prefix string, n int) []string {
	pvs := make([]string, n)
	for i := range pvs {
		pvs[i] = fmt.Sprintf("%s%05d", prefix, i)
	}
	return pvs
}

// Hole is a gap in the samples of a counting PV: steps are missing between the samples Last
// and Next.
type Hole struct{ Last, Next Event }

// Missing returns the number of missing steps.
func (h Hole) Missing() int { return int((h.Next.Value-h.Last.Value)/Step+0.5) - 1 }

// String describes the missing steps.
func (h Hole) String() string {
	return fmt.Sprintf("%d steps missing from %v to %v", h.Missing(), h.Last, h.Next)
}

// Holes returns the holes in the samples of a counting PV. It returns an error if a step is
// duplicated or out of order.
func Holes(events []Event) (found []Hole, err error) {
	for i := 1; i < len(events); i++ {
		last, next := events[i-1], events[i]
		switch {
		case next.Value == last.Value+Step && next.Time > last.Time:
		case next.Value > last.Value+Step && next.Time > last.Time:
			found = append(found, Hole{last, next})
		default:
			return found, fmt.Errorf("%v (%d) is followed by %v (%d)", last, last.Time, next, next.Time)
		}
	}
	return found, nil
}
