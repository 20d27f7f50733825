package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// RestoreInput is what decides about an ArchiveRestore.
type RestoreInput struct {
	Restore *v1alpha1.ArchiveRestore
	// Others are the ArchiveRestores of the namespace.
	Others []v1alpha1.ArchiveRestore
	// Archiver is nil if there is none, or if it is being deleted.
	Archiver *v1alpha1.Archiver
	// Engines is the number of engine pods that have not ended.
	Engines int
	Job     Job
	// Conflict returns why the Job must wait for another one, or "".
	Conflict func(verb string) string
	Now      time.Time
}

// RestoreDecision is what to do about an ArchiveRestore.
type RestoreDecision struct {
	// Start is set if the Job must start.
	Start bool
	// Discard is set if the Job must be deleted.
	Discard bool
	Status  v1alpha1.ArchiveRestoreStatus
	// Again is how soon to decide again without an event, or 0.
	Again time.Duration
}

// journalLife is how long Cassandra keeps journal rows.
const journalLife = 24 * time.Hour

// Restore decides about an ArchiveRestore.
func Restore(in RestoreInput) RestoreDecision {
	r := in.Restore
	var d RestoreDecision
	if r.Status != nil {
		d.Status = *r.Status.DeepCopy()
	}
	d.Status.ObservedGeneration = r.Generation
	c := conditionsOf(d.Status.Conditions, r.Generation, in.Now)
	if !RestoreEnded(r) && r.DeletionTimestamp == nil {
		d.decide(&in, c)
	}
	d.Status.Conditions = c.list
	return d
}

// RestoreEnded reports whether an ArchiveRestore has succeeded or failed.
func RestoreEnded(r *v1alpha1.ArchiveRestore) bool {
	if r.Status == nil {
		return false
	}
	c := &conditions{list: r.Status.Conditions}
	return c.is(v1alpha1.ConditionComplete, metav1.ConditionTrue) || c.because(v1alpha1.ConditionComplete, v1alpha1.ReasonFailed) ||
		c.because(v1alpha1.ConditionComplete, v1alpha1.ReasonEnginesStarted)
}

func (d *RestoreDecision) decide(in *RestoreInput, c *conditions) {
	j := in.Job
	if j.State == Missing {
		if w := restoreWait(in); w != nil {
			c.wait(v1alpha1.ConditionComplete, metav1.ConditionFalse, *w)
			d.Again = waitInterval
			return
		}
		d.Start, d.Status.StartTime = true, at(in.Now)
		j = Job{State: Running, Name: render.BackupJobName(in.Restore, render.RestoreBackup)}
	}
	if d.Status.StartTime == nil {
		d.Status.StartTime = at(j.Created)
	}
	fail := func(reason, message, advice string) {
		c.set(v1alpha1.ConditionComplete, metav1.ConditionFalse, reason, message)
		c.stall(reason, message+"; "+advice)
	}
	switch {
	case j.State == Running && in.Engines > 0:
		d.Discard, d.Status.CompletionTime = true, at(in.Now)
		fail(v1alpha1.ReasonEnginesStarted, fmt.Sprintf("engines of Archiver %s were started during the restore, so the archive is incomplete", in.Restore.Spec.ArchiverRef.Name),
			"stop them, make the archive empty again, and create another ArchiveRestore")
	case j.State == Running:
		c.run(v1alpha1.ConditionComplete, metav1.ConditionFalse, &j)
		d.Again = waitInterval
	case j.State == Succeeded:
		d.succeed(in, c, &j)
	default:
		d.Status.CompletionTime = at(j.Ended)
		fail(v1alpha1.ReasonFailed, "the archive is not restored, or incomplete: "+j.Said, "correct the cause, and create another ArchiveRestore")
	}
}

func (d *RestoreDecision) succeed(in *RestoreInput, c *conditions, j *Job) {
	d.Status.CompletionTime = at(j.Ended)
	a := in.Restore.Spec.ArchiverRef.Name
	message := fmt.Sprintf("the archive is restored; start its engines: kubectl scale archiver %s --replicas=N", a)
	if in.Archiver != nil && !render.Embedded(in.Archiver) {
		message = fmt.Sprintf("the archive is restored; start its engines before %s, because samples that are not in blocks expire then: kubectl scale archiver %s --replicas=N",
			j.Ended.Add(journalLife).UTC().Format(time.RFC3339), a)
	}
	if r := j.Result; r != nil {
		d.Status.BackupContent, d.Status.ExpiredRows = content(r), r.Expired
		if r.Already {
			message = "the archive was restored from this backup before; nothing was written"
		}
	}
	c.set(v1alpha1.ConditionComplete, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, message)
	c.settle()
}

// restoreWait returns what a restore waits for, or nil.
func restoreWait(in *RestoreInput) *Wait {
	if first := firstRestore(in); first != in.Restore.Name {
		return &Wait{v1alpha1.ReasonAnotherRestore, fmt.Sprintf(
			"ArchiveRestore %s restores a backup into the same archive: delete one of the two", first)}
	}
	if w := archiveWait(in.Restore.Spec.ArchiverRef.Name, in.Archiver, in.Engines, render.RestoreBackup); w != nil {
		return w
	}
	if other := in.Conflict(render.RestoreBackup); other != "" {
		return &Wait{v1alpha1.ReasonWaitingForJob, other}
	}
	return nil
}

// firstRestore returns the ArchiveRestore that may restore into the archive: the one that has begun, or the oldest one.
func firstRestore(in *RestoreInput) string {
	all := []*v1alpha1.ArchiveRestore{in.Restore}
	for i := range in.Others {
		o := &in.Others[i]
		if o.Name != in.Restore.Name && o.Spec.ArchiverRef == in.Restore.Spec.ArchiverRef && !RestoreEnded(o) && o.DeletionTimestamp == nil {
			all = append(all, o)
		}
	}
	begun := func(r *v1alpha1.ArchiveRestore) int {
		if r.Status != nil && r.Status.StartTime != nil {
			return 0
		}
		return 1
	}
	return slices.MinFunc(all, func(a, b *v1alpha1.ArchiveRestore) int {
		return cmp.Or(cmp.Compare(begun(a), begun(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	}).Name
}

// RefusedRestore changes a decision because the API server refused the Job.
func RefusedRestore(in RestoreInput, d RestoreDecision, message string) RestoreDecision {
	c := conditionsOf(d.Status.Conditions, in.Restore.Generation, in.Now)
	text := "the API server refuses the Job: " + clip(message)
	d.Status.StartTime = nil
	c.set(v1alpha1.ConditionComplete, metav1.ConditionFalse, v1alpha1.ReasonRefused, text)
	c.stall(v1alpha1.ReasonRefused, text)
	d.Status.Conditions, d.Again = c.list, waitInterval
	return d
}
