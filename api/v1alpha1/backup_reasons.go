package v1alpha1

// Conditions of ArchiveBackups, ArchiveBackupSchedules and ArchiveRestores.
const (
	// ConditionComplete is true when the backup exists, or the archive is restored.
	ConditionComplete = "Complete"
	// ConditionVerified is true when the backup was read again and is whole. Only backups with spec.verify have it.
	ConditionVerified = "Verified"
	// ConditionScheduled is true when the operator begins backups at the times of the schedule.
	ConditionScheduled = "Scheduled"
)

// Reasons of these conditions, besides ReasonPending, ReasonArchiverNotFound, ReasonWaitingForSchema, ReasonRefused,
// ReasonNotStalled and ReasonUpToDate.
const (
	// ReasonSucceeded: the backup exists, or the archive is restored.
	ReasonSucceeded = "Succeeded"
	// ReasonRowsDamaged: the backup lacks rows that the archive could not return whole.
	ReasonRowsDamaged = "RowsDamaged"
	// ReasonFailed: the Job has failed and is not tried again.
	ReasonFailed = "Failed"
	// ReasonRunning: the Job runs.
	ReasonRunning = "Running"
	// ReasonRetrying: the Job has failed and is tried again.
	ReasonRetrying = "Retrying"
	// ReasonPodNotRunning: the pod of the Job cannot start.
	ReasonPodNotRunning = "PodNotRunning"
	// ReasonWaitingForJob: another Job uses the destination or the archive.
	ReasonWaitingForJob = "WaitingForJob"
	// ReasonWaitingForNoEngines: the Archiver has engines.
	ReasonWaitingForNoEngines = "WaitingForNoEngines"
	// ReasonAnotherRestore: another ArchiveRestore restores into the same archive.
	ReasonAnotherRestore = "AnotherRestore"
	// ReasonEnginesStarted: engines were started during a restore.
	ReasonEnginesStarted = "EnginesStarted"
	// ReasonWhole: the backup was read again and is whole.
	ReasonWhole = "Whole"
	// ReasonBackupDamaged: the backup was read again and is damaged.
	ReasonBackupDamaged = "BackupDamaged"
	// ReasonVerificationFailed: the backup could not be read again.
	ReasonVerificationFailed = "VerificationFailed"
	// ReasonDeletingFiles: the files of the backup are being deleted.
	ReasonDeletingFiles = "DeletingFiles"
	// ReasonDeletionFailed: the files of the backup could not be deleted.
	ReasonDeletionFailed = "DeletionFailed"
	// ReasonWaitingForTime: the next backup begins at status.nextTime.
	ReasonWaitingForTime = "WaitingForTime"
	// ReasonBackupRuns: a backup of the schedule runs or waits.
	ReasonBackupRuns = "BackupRuns"
	// ReasonSuspended: spec.suspend is true.
	ReasonSuspended = "Suspended"
	// ReasonInvalidSchedule: spec.schedule or spec.timeZone has no meaning.
	ReasonInvalidSchedule = "InvalidSchedule"
	// ReasonBackupsFail: the latest backups of the schedule failed.
	ReasonBackupsFail = "BackupsFail"
)

// Labels and annotations of backups.
const (
	// LabelBackup is, on Jobs and pods, the name of their ArchiveBackup.
	LabelBackup = "varve.dev/backup"
	// LabelRestore is, on Jobs and pods, the name of their ArchiveRestore.
	LabelRestore = "varve.dev/restore"
	// LabelBackupSchedule is, on an ArchiveBackup, the name of its ArchiveBackupSchedule. The ArchiveBackup has no owner,
	// so it outlives its schedule.
	LabelBackupSchedule = "varve.dev/backup-schedule"
	// LabelBackupVerb is, on Jobs and pods, what they do: create, verify, delete or restore.
	LabelBackupVerb = "varve.dev/backup-verb"
	// LabelBackupPlace is, on Jobs and pods, a hash of the folder with the backups.
	LabelBackupPlace = "varve.dev/backup-place"
	// AnnotationScheduledAt is, on an ArchiveBackup, the time of the schedule for which it was created.
	AnnotationScheduledAt = "varve.dev/scheduled-at"
	// BackupFinalizer keeps an ArchiveBackup with deletionPolicy Delete until its files are deleted.
	BackupFinalizer = "varve.dev/delete-backup"
)
