package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// conditions are the conditions of an object while its next status is computed.
type conditions struct {
	list       []metav1.Condition
	generation int64
	now        time.Time
}

// conditionsOf returns the conditions of the last status, without the defaults of the CRD.
func conditionsOf(last []metav1.Condition, generation int64, now time.Time) *conditions {
	kept := slices.DeleteFunc(slices.Clone(last), func(c metav1.Condition) bool { return c.Reason == v1alpha1.ReasonPending })
	return &conditions{list: kept, generation: generation, now: now}
}

func (c *conditions) set(kind string, is metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&c.list, metav1.Condition{
		Type: kind, Status: is, Reason: reason, Message: message, ObservedGeneration: c.generation, LastTransitionTime: metav1.NewTime(c.now),
	})
}

func (c *conditions) is(kind string, is metav1.ConditionStatus) bool {
	return meta.IsStatusConditionPresentAndEqual(c.list, kind, is)
}

func (c *conditions) because(kind, reason string) bool {
	found := meta.FindStatusCondition(c.list, kind)
	return found != nil && found.Reason == reason
}

// verified reports whether it is decided whether the backup is whole.
func (c *conditions) verified() bool {
	return c.is(v1alpha1.ConditionVerified, metav1.ConditionTrue) || c.is(v1alpha1.ConditionVerified, metav1.ConditionFalse) ||
		c.because(v1alpha1.ConditionVerified, v1alpha1.ReasonVerificationFailed)
}

// progress says that work is under way, which completes without the user's help.
func (c *conditions) progress(reason, message string) {
	c.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
	c.set(v1alpha1.ConditionStalled, metav1.ConditionFalse, v1alpha1.ReasonNotStalled, "")
}

// settle says that nothing is left to do.
func (c *conditions) settle() {
	c.set(v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonUpToDate, "")
	c.set(v1alpha1.ConditionStalled, metav1.ConditionFalse, v1alpha1.ReasonNotStalled, "")
}

// stall says that somebody must change something.
func (c *conditions) stall(reason, message string) {
	c.set(v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonStalled, "")
	c.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, message)
}

// wait sets a condition while something else must happen first.
func (c *conditions) wait(kind string, is metav1.ConditionStatus, w Wait) {
	c.set(kind, is, w.Reason, w.Message)
	c.progress(w.Reason, w.Message)
}

// run describes a Job that has not ended.
func (c *conditions) run(kind string, is metav1.ConditionStatus, j *Job) {
	reason, message := v1alpha1.ReasonRunning, "Job "+j.Name+" runs"
	switch {
	case j.Waits != "":
		reason, message = v1alpha1.ReasonPodNotRunning, fmt.Sprintf("the pod of Job %s does not start: %s", j.Name, j.Waits)
	case j.Said != "":
		reason, message = v1alpha1.ReasonRetrying, fmt.Sprintf("Job %s tries again after a failure: %s", j.Name, j.Said)
	}
	c.set(kind, is, reason, message)
	c.progress(reason, message)
}

// Wait is what a Job waits for.
type Wait struct{ Reason, Message string }

// archiveWait returns why the archive cannot be used by a Job yet, or nil. verb says what for.
func archiveWait(name string, a *v1alpha1.Archiver, engines int, verb string) *Wait {
	if a == nil {
		return &Wait{v1alpha1.ReasonArchiverNotFound, fmt.Sprintf("there is no Archiver %q in this namespace", name)}
	}
	wanted := render.EngineReplicas(a)
	if (wanted > 0 || engines > 0) && (verb == render.RestoreBackup || render.Embedded(a)) {
		return &Wait{v1alpha1.ReasonWaitingForNoEngines, enginesMessage(a, wanted, engines, verb)}
	}
	if render.Embedded(a) {
		return nil
	}
	c := (*metav1.Condition)(nil)
	if a.Status != nil {
		c = meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionStorageReady)
	}
	switch {
	case c == nil:
		return &Wait{v1alpha1.ReasonWaitingForSchema, fmt.Sprintf("the operator has not checked the storage of Archiver %s yet", a.Name)}
	case c.Status == metav1.ConditionFalse && c.Reason != v1alpha1.ReasonAway:
		return &Wait{v1alpha1.ReasonWaitingForSchema, fmt.Sprintf("the storage of Archiver %s is not ready: %s", a.Name, c.Message)}
	}
	return nil
}

func enginesMessage(a *v1alpha1.Archiver, wanted int32, engines int, verb string) string {
	switch {
	case wanted == 0:
		return fmt.Sprintf("%d engines of Archiver %s have not ended yet", engines, a.Name)
	case verb == render.RestoreBackup:
		return fmt.Sprintf("a backup is restored while the archive has no engines: run kubectl scale archiver %s --replicas=0", a.Name)
	default:
		return fmt.Sprintf("an archive on a volume is backed up while its engine does not run: run kubectl scale archiver %s --replicas=0, "+
			"or take a VolumeSnapshot of PersistentVolumeClaim %s instead", a.Name, render.VolumeName(a.Name))
	}
}

// content returns what a backup contains.
func content(r *Result) v1alpha1.BackupContent {
	c := v1alpha1.BackupContent{PVs: new(r.PVs), Blocks: r.Rows["block"], Bytes: r.Bytes, Size: sizeOf(r.Bytes), Source: clip(r.Source)}
	if r.CompleteUntil != nil {
		c.CompleteUntil = &metav1.Time{Time: r.CompleteUntil.Truncate(time.Second)}
	}
	return c
}

// sizeOf formats a number of bytes.
func sizeOf(n int64) string {
	size, unit := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if size < 1024 {
			break
		}
		size, unit = size/1024, next
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", size, unit)
}

// at returns a time for a status, or nil.
func at(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}
