package archiverstatus

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
	"varve.dev/varve/engine/store"
)

// finalizeAfter is the default of spec.upgrade.finalizeAfter.
const finalizeAfter = 7 * 24 * time.Hour

// Finalization is what the operator knows about the format level of an archive, and does about it:
//
//	reports of engines ──▶ levels ────────────────┐
//	pods, Deployments ───▶ blocker ───────────────┼─▶ Finalization ──▶ Job, status.format, condition Finalized
//	spec.upgrade, status.format.workingSince, now ┘
type Finalization struct {
	// Format is the next status.format. It is nil if no engine has ever reported levels.
	Format *v1alpha1.FormatStatus
	// To is the format level to which a Job raises the archive now. It is 0 if no Job runs.
	To int32

	condition *metav1.Condition // without transition time; nil if nothing is known
}

// Finalize decides about the format level. The input has the objects as they were before the operator applies those of
// the spec, with Templates and Step.
func Finalize(in *Input) Finalization {
	f := Finalization{Format: formatOf(in)}
	if f.Format == nil {
		return f
	}
	if !in.Synced { // engines may report in a moment
		f.condition = previous(in.Archiver, v1alpha1.ConditionFinalized)
		return f
	}
	level, latest := f.Format.Level, f.Format.Latest
	if level >= latest {
		f.set(metav1.ConditionTrue, v1alpha1.ReasonUpToDate, fmt.Sprintf(
			"the archive has format level %d: releases that do not know this level refuse it, so you cannot go back to them", level))
		return f
	}
	can := fmt.Sprintf("the archive has format level %d, and its engines know level %d: you can go back to the former release", level, latest)
	if reason := blocker(in); reason != "" {
		f.set(metav1.ConditionFalse, v1alpha1.ReasonWaitingForPods, can+"; the upgrade cannot be finalized yet: "+reason)
		return f
	}
	if f.Format.WorkingSince == nil {
		f.Format.WorkingSince = &metav1.Time{Time: in.Now.Truncate(time.Second)} // the API server keeps whole seconds
	}
	f.schedule(in, can)
	return f
}

// schedule decides when to finalize an upgrade that can be finalized.
func (f *Finalization) schedule(in *Input, can string) {
	u := in.Archiver.Spec.Upgrade
	if u == nil || u.Finalize != v1alpha1.FinalizeAutomatic {
		how := "set spec.upgrade.finalize to Automatic, or run varve store finalize"
		if render.Embedded(in.Archiver) {
			how = "stop the engine and run varve store finalize --data, as docs/compatibility.md describes"
		}
		f.set(metav1.ConditionFalse, v1alpha1.ReasonCanBeFinalized, can+"; when you no longer want to, "+how)
		return
	}
	after, err := finalizeAfter, error(nil)
	if u.FinalizeAfter != "" {
		after, err = u.FinalizeAfter.TimeDuration()
	}
	due := f.Format.WorkingSince.Add(after)
	switch failed := jobFailure(in, v1alpha1.ComponentFinalize); {
	case err != nil:
		f.set(metav1.ConditionFalse, v1alpha1.ReasonCanBeFinalized, can+"; spec.upgrade.finalizeAfter: "+err.Error())
	case in.Now.Before(due):
		f.set(metav1.ConditionFalse, v1alpha1.ReasonScheduled, fmt.Sprintf(
			"%s until %s, when the operator finalizes the upgrade; set spec.upgrade.finalize to Manual to stop it", can, due.UTC().Format(time.RFC3339)))
	case failed != "":
		f.To = f.Format.Latest
		f.set(metav1.ConditionFalse, v1alpha1.ReasonFinalizeFailed, fmt.Sprintf(
			"the Job that raises the archive from format level %d to %d fails and is retried: %s", f.Format.Level, f.Format.Latest, failed))
	default:
		f.To = f.Format.Latest
		f.set(metav1.ConditionFalse, v1alpha1.ReasonFinalizing, fmt.Sprintf(
			"a Job raises the archive from format level %d to %d; you can no longer go back to the former release", f.Format.Level, f.Format.Latest))
	}
}

func (f *Finalization) set(status metav1.ConditionStatus, reason, message string) {
	f.condition = &metav1.Condition{Type: v1alpha1.ConditionFinalized, Status: status, Reason: reason, Message: message}
}

// formatOf returns the levels that the engines report. While no engine reports them, it returns the last ones.
func formatOf(in *Input) *v1alpha1.FormatStatus {
	var last *v1alpha1.FormatStatus
	if in.Archiver.Status != nil {
		last = in.Archiver.Status.Format.DeepCopy()
	}
	level, latest := levels(in)
	if level == 0 || !in.Synced {
		return last
	}
	next := &v1alpha1.FormatStatus{Level: level, Latest: latest}
	if last != nil && last.Latest == latest && level < latest {
		next.WorkingSince = last.WorkingSince
	}
	return next
}

// levels returns the level of the archive, or 0 if no engine has read it, and the highest level that all engines
// know that report. An engine of release 0.1.0 reports no levels, and knows only that of the archive.
func levels(in *Input) (level, latest int32) {
	latest = 1 << 30
	old := false
	for i := range in.Fleet {
		r := in.Fleet[i].Report
		switch {
		case r == nil:
		case r.Format == nil:
			old = true
		default:
			level, latest = max(level, int32(r.Format.Archive)), min(latest, int32(r.Format.Latest))
		}
	}
	if old {
		latest = level
	}
	return level, latest
}

// blocker returns why the upgrade cannot be finalized yet, or "". Every process that uses the archive must know the
// new level, also those that end, and must have worked.
func blocker(in *Input) string {
	switch {
	case in.Archiver.Spec.Paused:
		return "spec.paused is true"
	case in.Step != StepNone, !render.Embedded(in.Archiver) && !complete(in.Schema):
		return "pods are being replaced, as the condition Reconciling says"
	}
	deployments := []*appsv1.Deployment{in.Engines}
	if !render.Embedded(in.Archiver) {
		deployments = append(deployments, in.Retrieval)
	}
	for _, d := range deployments {
		if d == nil || !RolledOut(d, in.Templates[d.Name]) || d.Annotations[AnnotationWorked] != in.Templates[d.Name] {
			return "not all engines and retrieval pods have the new version and are ready"
		}
	}
	if reason := engineBlocker(in); reason != "" {
		return reason
	}
	return imageBlocker(in)
}

// engineBlocker returns which engine may use the archive without knowing the new level, or does not work.
func engineBlocker(in *Input) string {
	n := 0
	for i := range in.Fleet {
		switch e := &in.Fleet[i]; {
		case e.Leaving():
			return "engine " + e.Name + " is ending"
		case e.Report == nil:
			return "engine " + e.Name + " does not report"
		case e.Report.Storage != "":
			return "engine " + e.Name + " cannot write to the storage"
		}
		n++
	}
	switch want := int(wanted(in.Engines.Spec.Replicas)); {
	case n == 0:
		return "no engine runs"
	case n < want:
		return fmt.Sprintf("%d of %d engines report", n, want)
	}
	return ""
}

// imageBlocker returns which retrieval pod may not know the new level. Retrieval pods do not report levels, but know
// the same ones as engines with the same image. The name of an image is not enough, because it can be given to another
// image.
func imageBlocker(in *Input) string {
	known := map[string]bool{}
	for i := range in.Pods {
		if p := &in.Pods[i]; p.Labels[v1alpha1.LabelComponent] == v1alpha1.ComponentEngine && !hasEnded(p) {
			known[imageOf(p)] = true
		}
	}
	for i := range in.Pods {
		p := &in.Pods[i]
		if p.Labels[v1alpha1.LabelComponent] != v1alpha1.ComponentRetrieval || hasEnded(p) {
			continue
		}
		switch image := imageOf(p); {
		case p.DeletionTimestamp != nil:
			return "retrieval pod " + p.Name + " is ending"
		case image == "":
			return "retrieval pod " + p.Name + " has not started"
		case !known[image]:
			return "retrieval pod " + p.Name + " does not run the same image as the engines, although its name is the same: " +
				"delete the pod, or run varve store finalize yourself"
		}
	}
	return ""
}

func hasEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// imageOf returns the digest of the image that a pod of a component runs, or "" before it runs.
func imageOf(p *corev1.Pod) string {
	for i := range p.Status.ContainerStatuses {
		if s := &p.Status.ContainerStatuses[i]; s.Name == p.Labels[v1alpha1.LabelComponent] {
			return s.ImageID[strings.LastIndexByte(s.ImageID, '@')+1:]
		}
	}
	return ""
}

// finalized returns the condition Finalized, if the engines report levels.
func finalized(in *Input) []metav1.Condition {
	if c := in.Finalization.condition; c != nil {
		return []metav1.Condition{*c}
	}
	return nil
}

// finalizeProblem returns a problem if the Job that finalizes the upgrade fails.
func finalizeProblem(in *Input) []problem {
	if c := in.Finalization.condition; c != nil && c.Reason == v1alpha1.ReasonFinalizeFailed {
		return []problem{{c.Reason, c.Message}}
	}
	return nil
}

// OperatorTooOld reports whether the pods would get the operator's own image, which does not know the format level of
// the archive. The schema Job finds this out for every image, but an archive on a volume has no such Job.
func OperatorTooOld(a *v1alpha1.Archiver) bool {
	return render.Embedded(a) && a.Spec.Image == "" &&
		a.Status != nil && a.Status.Format != nil && a.Status.Format.Level > int32(store.LatestFormat)
}

// operatorTooOld returns a problem if the operator's image must not replace the engine.
func operatorTooOld(in *Input) []problem {
	if in.Step != StepFormat {
		return nil
	}
	return []problem{{v1alpha1.ReasonFormatTooNew, tooNew(in.Archiver)}}
}

func tooNew(a *v1alpha1.Archiver) string {
	return fmt.Sprintf("the archive has format level %d, and the image of this operator knows level %d at most: the engine stays as it is; "+
		"use the operator of the release that finalized the archive, or a later one", a.Status.Format.Level, store.LatestFormat)
}

// jobFailure returns the error of the last failure of a Job, or "". Its pods have the given component.
func jobFailure(in *Input, component string) string {
	for i := range in.Pods {
		p := &in.Pods[i]
		if p.Labels[v1alpha1.LabelComponent] != component || p.DeletionTimestamp != nil {
			continue
		}
		for j := range p.Status.ContainerStatuses {
			if line, failed := lastLine(&p.Status.ContainerStatuses[j]); failed {
				return cmp.Or(line, "see the log of the "+component+" Job")
			}
		}
	}
	return ""
}
