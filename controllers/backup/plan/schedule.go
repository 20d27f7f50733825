package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// ScheduleInput is what decides about an ArchiveBackupSchedule.
type ScheduleInput struct {
	Schedule *v1alpha1.ArchiveBackupSchedule
	// Backups are the ArchiveBackups of the schedule.
	Backups []v1alpha1.ArchiveBackup
	Now     time.Time
}

// ScheduleDecision is what to do about an ArchiveBackupSchedule.
type ScheduleDecision struct {
	// Create is the ArchiveBackup to create, or nil.
	Create *v1alpha1.ArchiveBackup
	// Skipped is the backup because of which a time of the schedule was left out, or "".
	Skipped string
	// Delete are the names of the ArchiveBackups to delete.
	Delete []string
	Status v1alpha1.ArchiveBackupScheduleStatus
	// Due is when a backup is due that does not exist yet. It is zero if no backups are scheduled.
	Due time.Time
	// Failed is whether the latest backup that ended has failed.
	Failed bool
	// Again is how soon to decide again without an event, or 0.
	Again time.Duration
}

const (
	// maxSleep bounds how long the clock of the operator is trusted.
	maxSleep = time.Hour
	// keptFailures is the number of failed ArchiveBackups that are kept, because they say why they failed.
	keptFailures = 3
)

// scheduleNameFormat is the end of the name of an ArchiveBackup: the time of the schedule, in UTC.
const scheduleNameFormat = "200601021504"

// Schedule decides about an ArchiveBackupSchedule.
func Schedule(in ScheduleInput) ScheduleDecision {
	s := in.Schedule
	var d ScheduleDecision
	if s.Status != nil {
		d.Status = *s.Status.DeepCopy()
	}
	isNew := d.Status.ObservedGeneration == 0
	d.Status.ObservedGeneration = s.Generation
	c := conditionsOf(d.Status.Conditions, s.Generation, in.Now)
	backups := slices.Clone(in.Backups)
	slices.SortFunc(backups, func(a, b v1alpha1.ArchiveBackup) int {
		return cmp.Or(scheduledAt(&a).Compare(scheduledAt(&b)), cmp.Compare(a.Name, b.Name))
	})
	d.judge(backups, c)
	d.prune(s, backups)
	times, err := ParseTimes(s.Spec.Schedule, s.Spec.TimeZone, in.Now)
	switch {
	case err != nil:
		d.stop()
		c.set(v1alpha1.ConditionScheduled, metav1.ConditionFalse, v1alpha1.ReasonInvalidSchedule, err.Error())
		c.stall(v1alpha1.ReasonInvalidSchedule, err.Error())
	case s.Spec.Suspend:
		d.stop()
		c.set(v1alpha1.ConditionScheduled, metav1.ConditionFalse, v1alpha1.ReasonSuspended, "spec.suspend is true: no backup begins")
		c.settle()
	default:
		since := in.Now
		if isNew {
			since = s.CreationTimestamp.Time
		}
		d.follow(times, in, since, running(backups))
		d.explain(c, running(backups))
	}
	d.Status.Conditions = c.list
	return d
}

// stop notes that no backups are scheduled.
func (d *ScheduleDecision) stop() {
	d.Status.Schedule, d.Status.Since, d.Status.NextTime = "", nil, nil
}

// follow decides whether a backup begins. If several were due, one begins.
func (d *ScheduleDecision) follow(times *Times, in ScheduleInput, since time.Time, busy *v1alpha1.ArchiveBackup) {
	st := &d.Status
	if st.Schedule != times.Text || st.Since == nil {
		st.Schedule, st.Since = times.Text, &metav1.Time{Time: since}
	}
	after := st.Since.Time
	if st.LastTime != nil && st.LastTime.After(after) {
		after = st.LastTime.Time
	}
	if due := times.Latest(after, in.Now); !due.IsZero() {
		st.LastTime = &metav1.Time{Time: due}
		if busy != nil {
			d.Skipped = busy.Name
		} else {
			d.Create = backupOf(in.Schedule, due)
			st.LastBackup = d.Create.Name
		}
	}
	next := times.Next(in.Now)
	st.NextTime = at(next)
	d.Again = min(next.Sub(in.Now), maxSleep)
	covered := st.Since.Time
	if st.LastSuccessTime != nil && st.LastSuccessTime.After(covered) {
		covered = st.LastSuccessTime.Time
	}
	d.Due = times.Next(covered)
}

// explain sets the conditions while backups are scheduled.
func (d *ScheduleDecision) explain(c *conditions, busy *v1alpha1.ArchiveBackup) {
	switch {
	case busy != nil:
		message := fmt.Sprintf("ArchiveBackup %s has not ended", busy.Name)
		if busy.Status != nil {
			if why := meta.FindStatusCondition(busy.Status.Conditions, v1alpha1.ConditionComplete); why != nil && why.Message != "" {
				message += ": " + clip(why.Message)
			}
		}
		c.set(v1alpha1.ConditionScheduled, metav1.ConditionTrue, v1alpha1.ReasonBackupRuns, message)
	case d.Create != nil:
		c.set(v1alpha1.ConditionScheduled, metav1.ConditionTrue, v1alpha1.ReasonBackupRuns, fmt.Sprintf("ArchiveBackup %s has not ended", d.Create.Name))
	default:
		c.set(v1alpha1.ConditionScheduled, metav1.ConditionTrue, v1alpha1.ReasonWaitingForTime, "the next backup begins at status.nextTime")
	}
	c.settle()
}

// judge counts failures, and notes the latest success.
func (d *ScheduleDecision) judge(backups []v1alpha1.ArchiveBackup, c *conditions) {
	d.Status.Failed = 0
	var last *v1alpha1.ArchiveBackup
	for i := range backups {
		b := &backups[i]
		ended, good := BackupEnded(b)
		switch {
		case !ended:
		case good:
			d.Status.Failed, d.Failed = 0, false
			until := b.Status.CompleteUntil
			if until == nil {
				until = b.Status.StartTime
			}
			if until != nil && (d.Status.LastSuccessTime == nil || until.After(d.Status.LastSuccessTime.Time)) {
				d.Status.LastSuccessTime = until
			}
		default:
			d.Status.Failed++
			d.Failed, last = true, b
		}
	}
	if !d.Failed {
		c.set(v1alpha1.ConditionDegraded, metav1.ConditionFalse, v1alpha1.ReasonNoProblems, "")
		return
	}
	message := fmt.Sprintf("the latest backup, ArchiveBackup %s, failed", last.Name)
	if why := meta.FindStatusCondition(last.Status.Conditions, v1alpha1.ConditionStalled); why != nil && why.Message != "" {
		message += ": " + clip(why.Message)
	}
	c.set(v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonBackupsFail, message)
}

// prune selects the ArchiveBackups to delete: the oldest good ones, and failed ones that are older than all that stay. A
// backup that is not known to be whole never counts as one of those to keep.
func (d *ScheduleDecision) prune(s *v1alpha1.ArchiveBackupSchedule, backups []v1alpha1.ArchiveBackup) {
	if s.Spec.Keep == nil {
		return
	}
	good, failed := 0, 0
	for i := len(backups) - 1; i >= 0; i-- {
		b := &backups[i]
		ended, isGood := BackupEnded(b)
		if !ended || b.DeletionTimestamp != nil {
			continue
		}
		if isGood {
			good++
		} else {
			failed++
		}
		if isGood && good > int(*s.Spec.Keep) || !isGood && (failed > keptFailures || good >= int(*s.Spec.Keep)) {
			d.Delete = append(d.Delete, b.Name)
		}
	}
}

// running returns the latest backup that has not ended, or nil.
func running(backups []v1alpha1.ArchiveBackup) *v1alpha1.ArchiveBackup {
	for i := len(backups) - 1; i >= 0; i-- {
		if ended, _ := BackupEnded(&backups[i]); !ended && backups[i].DeletionTimestamp == nil {
			return &backups[i]
		}
	}
	return nil
}

// scheduledAt returns the time of the schedule for which a backup was created.
func scheduledAt(b *v1alpha1.ArchiveBackup) time.Time {
	if t, err := time.Parse(time.RFC3339, b.Annotations[v1alpha1.AnnotationScheduledAt]); err == nil {
		return t
	}
	return b.CreationTimestamp.Time
}

// backupOf returns the ArchiveBackup for a time of a schedule. Its name is the same each time, so it is created once.
func backupOf(s *v1alpha1.ArchiveBackupSchedule, due time.Time) *v1alpha1.ArchiveBackup {
	t := &s.Spec.Template
	return &v1alpha1.ArchiveBackup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: s.Name + "-" + due.UTC().Format(scheduleNameFormat),
			Labels:      map[string]string{v1alpha1.LabelBackupSchedule: s.Name, v1alpha1.LabelArchiver: t.ArchiverRef.Name},
			Annotations: map[string]string{v1alpha1.AnnotationScheduledAt: due.UTC().Format(time.RFC3339)},
		},
		Spec: v1alpha1.ArchiveBackupSpec{
			ArchiverRef: t.ArchiverRef, Destination: *t.Destination.DeepCopy(), Verify: t.Verify, DeletionPolicy: t.DeletionPolicy,
		},
	}
}
