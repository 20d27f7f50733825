package manifesttest

import (
	"strings"

	"varve.dev/varve/api/v1alpha1"
)

// Backups are ArchiveBackups, ArchiveBackupSchedules and ArchiveRestores, valid and invalid ones.
func Backups() (all []Case) {
	for _, c := range backups {
		text := "apiVersion: varve.dev/v1alpha1\nkind: " + c.kind + "\nmetadata: {namespace: ops, name: " + c.name + "}\nspec: {" + c.spec + "}\n"
		all = append(all, Case{Kind: c.kind, Manifest: text, Want: c.want})
	}
	return all
}

const (
	main     = "archiverRef: {name: main}"
	onVolume = "{persistentVolumeClaim: {claimName: backups}}"
	template = ", template: {" + main + ", destination: " + onVolume + "}"
	oneField = "exactly one of the fields in [persistentVolumeClaim] must be set"
	restored = main + ", source: " + onVolume + ", backupName: before-1a2b3c4d"
)

// inFolder is a destination in a folder.
func inFolder(path string) string {
	return main + ", destination: {persistentVolumeClaim: {claimName: backups, path: '" + path + "'}}"
}

var backups = []struct{ kind, name, spec, want string }{
	{v1alpha1.KindArchiveBackup, "before-upgrade", main + ", destination: " + onVolume, ""},
	{v1alpha1.KindArchiveBackup, "x", main + ", destination: " + onVolume + ", verify: true, deletionPolicy: Delete", ""},
	{v1alpha1.KindArchiveBackup, "x", inFolder("epics/main-1.0_a"), ""},
	{v1alpha1.KindArchiveBackup, "x", inFolder("."), ""},
	{v1alpha1.KindArchiveBackup, strings.Repeat("x", 46), main + ", destination: " + onVolume, ""},
	{v1alpha1.KindArchiveBackup, strings.Repeat("x", 47), main + ", destination: " + onVolume, "metadata.name must have at most 46 lower-case letters"},
	{v1alpha1.KindArchiveBackup, "a.b", main + ", destination: " + onVolume, "metadata.name must have at most 46 lower-case letters"},
	{v1alpha1.KindArchiveBackup, "x", inFolder("../other"), "path must be a folder below the volume, such as epics/main"},
	{v1alpha1.KindArchiveBackup, "x", inFolder("/etc"), "path must be a folder below the volume"},
	{v1alpha1.KindArchiveBackup, "x", inFolder("a/"), "path must be a folder below the volume"},
	{v1alpha1.KindArchiveBackup, "x", inFolder("a/../b"), "path must be a folder below the volume"},
	{v1alpha1.KindArchiveBackup, "x", main + ", destination: {}", oneField},
	{v1alpha1.KindArchiveBackup, "x", main, "spec.destination: Required value"},
	{v1alpha1.KindArchiveBackup, "x", "destination: " + onVolume, "spec.archiverRef: Required value"},
	{v1alpha1.KindArchiveBackup, "x", main + ", destination: {persistentVolumeClaim: {claimName: Backups}}", "spec.destination.persistentVolumeClaim.claimName"},
	{v1alpha1.KindArchiveBackup, "x", main + ", destination: " + onVolume + ", deletionPolicy: Maybe", `Unsupported value: "Maybe"`},

	{v1alpha1.KindArchiveBackupSchedule, "nightly", "schedule: '30 1 * * *'" + template, ""},
	{v1alpha1.KindArchiveBackupSchedule, "x", "schedule: '*/15 0-6,22 1,15 jan-mar mon-fri', timeZone: Europe/Berlin, suspend: true, keep: 7" + template, ""},
	{v1alpha1.KindArchiveBackupSchedule, strings.Repeat("x", 33), "schedule: '30 1 * * *'" + template, ""},
	{v1alpha1.KindArchiveBackupSchedule, strings.Repeat("x", 34), "schedule: '30 1 * * *'" + template, "metadata.name must have at most 33 lower-case letters"},
	{v1alpha1.KindArchiveBackupSchedule, "x", "schedule: '@daily   @'" + template, "schedule must have five fields, as in cron"},
	{v1alpha1.KindArchiveBackupSchedule, "x", "schedule: '0 30 1 * * *'" + template, "schedule must have five fields, as in cron"},
	{v1alpha1.KindArchiveBackupSchedule, "x", "schedule: 'TZ=UTC 1 * * *'" + template, "timeZone sets the time zone"},
	{v1alpha1.KindArchiveBackupSchedule, "x", "schedule: '30 1 * * *', timeZone: Local" + template, "timeZone must be the name of a time zone, such as Europe/Berlin or UTC"},
	{v1alpha1.KindArchiveBackupSchedule, "x", "schedule: '30 1 * * *', timeZone: ../etc" + template, "timeZone must be the name of a time zone"},
	{v1alpha1.KindArchiveBackupSchedule, "x", "schedule: '30 1 * * *', keep: 0" + template, "spec.keep"},
	{v1alpha1.KindArchiveBackupSchedule, "x", "schedule: '30 1 * * *'", "spec.template: Required value"},
	{v1alpha1.KindArchiveBackupSchedule, "x", "schedule: '30 1 * * *', template: {" + main + ", destination: {}}", oneField},
	{v1alpha1.KindArchiveBackupSchedule, "x", "schedule: '30 1 * * *', template: {" + inFolder("a//b") + "}", "path must be a folder below the volume"},

	{v1alpha1.KindArchiveRestore, "after-accident", restored, ""},
	{v1alpha1.KindArchiveRestore, "x", main + ", source: {persistentVolumeClaim: {claimName: backups, path: ../other}}, backupName: b", "path must be a folder below the volume"},
	{v1alpha1.KindArchiveRestore, "x", restored + ", into: Empty, allowOtherArchive: true", ""},
	{v1alpha1.KindArchiveRestore, strings.Repeat("x", 47), restored, "metadata.name must have at most 46 lower-case letters"},
	{v1alpha1.KindArchiveRestore, "x", restored + ", into: Existing", `Unsupported value: "Existing"`},
	{v1alpha1.KindArchiveRestore, "x", main + ", source: " + onVolume, "spec.backupName: Required value"},
	{v1alpha1.KindArchiveRestore, "x", main + ", source: " + onVolume + ", backupName: ../other", "backupName must be the name of a backup"},
	{v1alpha1.KindArchiveRestore, "x", main + ", source: {}, backupName: b", oneField},
}
