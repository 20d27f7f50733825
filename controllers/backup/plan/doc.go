// Package plan decides what happens to ArchiveBackups, ArchiveBackupSchedules and ArchiveRestores. It is pure:
//
//	Job, pods ──▶ ObserveJob ──▶ Job ──┬─▶ Backup ───▶ next status; Job to start, Jobs to delete, finalizer
//	Archiver, other Jobs ──▶ Conflict ─┴─▶ Restore ──▶ next status; Job to start or delete
//	cron, time zone, ArchiveBackups, now ─▶ Schedule ─▶ next status; ArchiveBackup to create, ArchiveBackups to delete
package plan
