package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// BackupInput is what decides about an ArchiveBackup.
type BackupInput struct {
	Backup *v1alpha1.ArchiveBackup
	// Archiver is nil if there is none, or if it is being deleted.
	Archiver *v1alpha1.Archiver
	// Engines is the number of engine pods that have not ended.
	Engines int
	// Create, Verify and Delete are the Jobs of the ArchiveBackup.
	Create, Verify, Delete Job
	// Conflict returns why a Job with a verb must wait for another one, or "".
	Conflict func(verb string) string
	Now      time.Time
}

// BackupDecision is what to do about an ArchiveBackup.
type BackupDecision struct {
	// Guard is whether the ArchiveBackup must have its finalizer.
	Guard bool
	// Start is the verb of the Job to start, or "".
	Start string
	// Discard are the names of the Jobs to delete.
	Discard []string
	// Kept says why the files stay although the ArchiveBackup asks for their deletion.
	Kept string
	// Deleted is set once the files are deleted.
	Deleted bool
	Status  v1alpha1.ArchiveBackupStatus
	// Again is how soon to decide again without an event, or 0.
	Again time.Duration
}

const (
	// waitInterval is how often something that a Job waits for is checked.
	waitInterval = 15 * time.Second
	// deleteAgain is how long after a failed deletion of files the next one begins.
	deleteAgain = 10 * time.Minute
)

// backupPlan is a decision while it is made.
type backupPlan struct {
	BackupInput
	BackupDecision
	*conditions
}

// Backup decides about an ArchiveBackup.
func Backup(in BackupInput) BackupDecision {
	b := in.Backup
	p := &backupPlan{BackupInput: in}
	p.Guard = b.Spec.DeletionPolicy == v1alpha1.DeleteData
	if b.Status != nil {
		p.Status = *b.Status.DeepCopy()
	}
	p.Status.ObservedGeneration = b.Generation
	p.conditions = conditionsOf(p.Status.Conditions, b.Generation, in.Now)
	switch {
	case b.DeletionTimestamp != nil:
		p.deleteFiles()
	case p.is(v1alpha1.ConditionComplete, metav1.ConditionFalse) && p.because(v1alpha1.ConditionComplete, v1alpha1.ReasonFailed):
	case !p.is(v1alpha1.ConditionComplete, metav1.ConditionTrue):
		p.create()
	case b.Spec.Verify && !p.verified():
		p.verify()
	}
	p.Status.Conditions = p.list
	return p.BackupDecision
}

// BackupEnded reports whether an ArchiveBackup has ended, and whether the backup is whole as far as that was to be checked.
func BackupEnded(b *v1alpha1.ArchiveBackup) (ended, good bool) {
	if b.Status == nil {
		return false, false
	}
	c := &conditions{list: b.Status.Conditions}
	switch {
	case c.because(v1alpha1.ConditionComplete, v1alpha1.ReasonFailed):
		return true, false
	case !c.is(v1alpha1.ConditionComplete, metav1.ConditionTrue):
		return false, false
	case !b.Spec.Verify:
		return true, true
	}
	return c.verified(), c.is(v1alpha1.ConditionVerified, metav1.ConditionTrue)
}

// create decides while there is no backup.
func (p *backupPlan) create() {
	j := &p.Create
	if j.State == Missing {
		if w := archiveWait(p.Backup.Spec.ArchiverRef.Name, p.Archiver, p.Engines, render.CreateBackup); w != nil {
			p.wait(v1alpha1.ConditionComplete, metav1.ConditionFalse, *w)
			p.Again = waitInterval
			return
		}
		if !p.start(render.CreateBackup, v1alpha1.ConditionComplete, metav1.ConditionFalse) {
			return
		}
		p.Status.StartTime, p.Status.BackupName = at(p.Now), render.BackupName(p.Backup)
		*j = Job{State: Running, Name: render.BackupJobName(p.Backup, render.CreateBackup)}
	}
	if p.Status.StartTime == nil {
		p.Status.StartTime, p.Status.BackupName = at(j.Created), render.BackupName(p.Backup)
	}
	switch j.State {
	case Running:
		p.run(v1alpha1.ConditionComplete, metav1.ConditionFalse, j)
		p.Again = waitInterval
	case Failed:
		p.Status.CompletionTime = at(j.Ended)
		p.set(v1alpha1.ConditionComplete, metav1.ConditionFalse, v1alpha1.ReasonFailed, "there is no backup: "+j.Said)
		p.stall(v1alpha1.ReasonFailed, "there is no backup: "+j.Said+"; correct the cause, and create another ArchiveBackup")
	default:
		p.complete(j)
	}
}

// complete notes what the backup contains.
func (p *backupPlan) complete(j *Job) {
	p.Status.CompletionTime = at(j.Ended)
	reason, message := v1alpha1.ReasonSucceeded, "the backup is complete"
	if r := j.Result; r == nil {
		message += "; its content is not known, because the pod of Job " + j.Name + " was deleted"
	} else {
		p.Status.BackupContent, p.Status.NewBytes, p.Status.DamagedRows = content(r), r.NewBytes, r.Damaged
		if r.Damaged > 0 {
			reason, message = v1alpha1.ReasonRowsDamaged, damagedMessage(r)
			p.set(v1alpha1.ConditionDegraded, metav1.ConditionTrue, reason, message)
		}
	}
	p.set(v1alpha1.ConditionComplete, metav1.ConditionTrue, reason, message)
	if p.Backup.Spec.Verify {
		p.verify()
		return
	}
	p.settle()
}

func damagedMessage(r *Result) string {
	text := fmt.Sprintf("the backup is complete except for %d rows that the archive cannot return whole: run varve store check", r.Damaged)
	if len(r.Problems) > 0 {
		text += "; " + clip(strings.Join(r.Problems, "; "))
	}
	return text
}

// verify decides while it is not known whether the backup is whole.
func (p *backupPlan) verify() {
	j := &p.Verify
	if j.State == Missing {
		if p.Archiver == nil {
			p.wait(v1alpha1.ConditionVerified, metav1.ConditionUnknown, *archiveWait(p.Backup.Spec.ArchiverRef.Name, nil, 0, render.VerifyBackup))
			p.Again = waitInterval
			return
		}
		if !p.start(render.VerifyBackup, v1alpha1.ConditionVerified, metav1.ConditionUnknown) {
			return
		}
		*j = Job{State: Running, Name: render.BackupJobName(p.Backup, render.VerifyBackup)}
	}
	const advice = "delete the damaged files that its log names, and make another backup while the archive has the rows"
	switch j.State {
	case Running:
		p.run(v1alpha1.ConditionVerified, metav1.ConditionUnknown, j)
		p.Again = waitInterval
	case Succeeded:
		p.set(v1alpha1.ConditionVerified, metav1.ConditionTrue, v1alpha1.ReasonWhole, "the backup was read again and is whole")
		p.settle()
	case Problems:
		p.set(v1alpha1.ConditionVerified, metav1.ConditionFalse, v1alpha1.ReasonBackupDamaged, problemsOf(j))
		p.stall(v1alpha1.ReasonBackupDamaged, problemsOf(j)+"; "+advice)
	default:
		p.set(v1alpha1.ConditionVerified, metav1.ConditionUnknown, v1alpha1.ReasonVerificationFailed, "the backup could not be read again: "+j.Said)
		p.stall(v1alpha1.ReasonVerificationFailed, "the backup could not be read again: "+j.Said)
	}
}

func problemsOf(j *Job) string {
	return clip(strings.Join(append([]string{j.Said}, j.Result.Problems...), "; "))
}

// start decides that a Job starts, unless it must wait for another one. A condition says what it waits for.
func (p *backupPlan) start(verb, condition string, is metav1.ConditionStatus) bool {
	if other := p.Conflict(verb); other != "" {
		p.wait(condition, is, Wait{v1alpha1.ReasonWaitingForJob, other})
		p.Again = waitInterval
		return false
	}
	p.Start = verb
	return true
}

// deleteFiles decides about an ArchiveBackup that is being deleted. Without its Archiver it must not wait for anything.
func (p *backupPlan) deleteFiles() {
	switch {
	case !slices.Contains(p.Backup.Finalizers, v1alpha1.BackupFinalizer), !p.Guard:
		p.Guard = false
		return
	case p.Status.StartTime == nil && p.Create.State == Missing:
		p.Guard = false // there are no files
		return
	case p.Archiver == nil:
		p.Guard, p.Kept = false, fmt.Sprintf("Archiver %s no longer exists", p.Backup.Spec.ArchiverRef.Name)
		return
	}
	for _, j := range []*Job{&p.Create, &p.Verify} {
		if j.State == Running {
			p.Discard = append(p.Discard, j.Name)
		}
	}
	const what = "the files of the backup are being deleted"
	if len(p.Discard) > 0 {
		p.progress(v1alpha1.ReasonDeletingFiles, what+", after the Jobs of the backup have ended")
		p.Again = 2 * time.Second
		return
	}
	j := &p.Delete
	if j.State == Missing {
		if other := p.Conflict(render.DeleteBackup); other != "" {
			p.progress(v1alpha1.ReasonDeletingFiles, what+", once this has ended: "+other)
			p.Again = waitInterval
			return
		}
		p.Start = render.DeleteBackup
		*j = Job{State: Running, Name: render.BackupJobName(p.Backup, render.DeleteBackup)}
	}
	switch j.State {
	case Running:
		message := what
		if why := p.reasonOf(j); why != "" {
			message += ": " + why
		}
		p.progress(v1alpha1.ReasonDeletingFiles, message)
		p.Again = waitInterval
	case Succeeded:
		p.Guard, p.Deleted = false, true
	default:
		p.stall(v1alpha1.ReasonDeletionFailed, "the files of the backup cannot be deleted: "+j.Said+
			"; correct the cause, or set spec.deletionPolicy to Retain to keep the files")
		if p.Again = deleteAgain - p.Now.Sub(j.Ended); p.Again <= 0 {
			p.Discard, p.Again = []string{j.Name}, 2*time.Second
		}
	}
}

// reasonOf returns why a running Job makes no progress, or "".
func (p *backupPlan) reasonOf(j *Job) string {
	if j.Waits != "" {
		return "the pod of Job " + j.Name + " does not start: " + j.Waits
	}
	return j.Said
}

// RefusedBackup changes a decision because the API server refused the Job to start. ended means that the namespace is
// being deleted, so no Job can delete files in it.
func RefusedBackup(in BackupInput, d BackupDecision, message string, ended bool) BackupDecision {
	if ended && in.Backup.DeletionTimestamp != nil {
		d.Guard, d.Kept = false, "the namespace is being deleted"
		return d
	}
	p := &backupPlan{BackupInput: in, BackupDecision: d, conditions: conditionsOf(d.Status.Conditions, in.Backup.Generation, in.Now)}
	text := "the API server refuses the Job: " + clip(message)
	switch d.Start {
	case render.CreateBackup:
		p.Status.StartTime = nil
		p.set(v1alpha1.ConditionComplete, metav1.ConditionFalse, v1alpha1.ReasonRefused, text)
	case render.VerifyBackup:
		p.set(v1alpha1.ConditionVerified, metav1.ConditionUnknown, v1alpha1.ReasonRefused, text)
	}
	p.stall(v1alpha1.ReasonRefused, text)
	p.Status.Conditions, p.Again = p.list, waitInterval
	return p.BackupDecision
}
