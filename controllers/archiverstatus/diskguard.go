package archiverstatus

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
)

// diskGuard returns the condition DiskGuard, or nothing before the first report of an engine.
// Its numbers are rounded so that they rarely change.
func diskGuard(in *Input) []metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionDiskGuard}
	set := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		c.Status, c.Reason, c.Message = status, reason, message
		return []metav1.Condition{c}
	}
	g := guardReport(in)
	if g == nil {
		if old := previous(in.Archiver, c.Type); old != nil { // the guard is moving to another engine
			return set(old.Status, old.Reason, old.Message)
		}
		return nil
	}
	gone := ""
	if g.Before != nil {
		gone = "; raw samples before " + g.Before.Format(time.RFC3339) + " were deleted to free disk space"
	}
	limit := "its limit of " + size(g.Limit)
	switch g.Reason {
	case v1alpha1.ReasonNoLimit:
		return set(metav1.ConditionFalse, g.Reason, "no limit is set"+gone)
	case v1alpha1.ReasonBelowLimit:
		return set(metav1.ConditionFalse, g.Reason, "the archive is well below "+limit+gone)
	case v1alpha1.ReasonNearLimit:
		return set(metav1.ConditionFalse, g.Reason, "at its present growth the archive is near "+limit+" in about "+g.Text+
			", and then the oldest raw samples are deleted: add disk space, raise diskLimit or shorten the retention"+gone)
	case v1alpha1.ReasonMeasuring:
		return set(metav1.ConditionFalse, g.Reason, "the archive seems to be near "+limit+"; its size is measured for some minutes before raw samples are deleted"+gone)
	case v1alpha1.ReasonOnlyWarning:
		return set(metav1.ConditionTrue, g.Reason, "the archive is near "+limit+", and nothing is deleted because diskGuard.action is Warn: add disk space or raise diskLimit"+gone)
	case v1alpha1.ReasonDropping:
		return set(metav1.ConditionTrue, g.Reason, "the archive is near "+limit+gone)
	case v1alpha1.ReasonWaitingForRoom:
		message := fmt.Sprintf("the archive is near %s%s; about %s of deleted data still take up disk space", limit, gone, about(g.Waiting))
		if g.Text != "" {
			message += ": " + g.Text
		}
		return set(metav1.ConditionTrue, g.Reason, message)
	case v1alpha1.ReasonNothingLeft:
		return set(metav1.ConditionTrue, g.Reason, "the archive is near "+limit+gone+"; the remaining raw samples are too recent to be deleted: they are younger than "+cmp.Or(g.Text, "1 day"))
	}
	return set(metav1.ConditionUnknown, v1alpha1.ReasonSizeUnknown, "the size of the archive is unknown, so nothing is deleted: "+g.Text)
}

// guardReport returns the report of the engine that runs the disk guard. During a hand-over two
// engines can report; it returns the first.
func guardReport(in *Input) *report.DiskGuard {
	for i := range in.Fleet {
		if r := in.Fleet[i].Report; r != nil && r.DiskGuard != nil && !in.Fleet[i].Dead {
			return r.DiskGuard
		}
	}
	return nil
}

// about returns a size with two significant digits.
func about(bytes int64) string {
	f, unit := scaled(bytes)
	if f >= 10 {
		scale := math.Pow(10, math.Floor(math.Log10(f))-1)
		f = math.Round(f/scale) * scale
	}
	return inUnit(f, unit)
}

// size returns a size with one decimal.
func size(bytes int64) string { return inUnit(scaled(bytes)) }

func scaled(bytes int64) (f float64, unit string) {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	n, f := 0, float64(bytes)
	for ; f >= 1024 && n < len(units)-1; n++ {
		f /= 1024
	}
	return f, units[n]
}

func inUnit(f float64, unit string) string {
	return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64) + " " + unit
}
