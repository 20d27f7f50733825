package render

import (
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "k8s.io/client-go/applyconfigurations/batch/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"
	meta "k8s.io/client-go/applyconfigurations/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// BackupDir is the folder in a pod where the volume with the backups is mounted.
const BackupDir = "/backup"

// Verbs of Jobs about backups. Each is a command of `varve backup`.
const (
	CreateBackup  = "create"
	VerifyBackup  = "verify"
	DeleteBackup  = "delete"
	RestoreBackup = "restore"
)

const (
	// backupRetries is how often Kubernetes starts the program again, which takes about 20 minutes. Each try continues
	// where the former one was.
	backupRetries = 8
	// deleteRetries is enough for the 15 minutes during which the program refuses to delete files, because a backup
	// that was killed looks like one that runs.
	deleteRetries = 9
	// keptSeconds is how long Kubernetes keeps a Job that has ended, with its log.
	keptSeconds = 24 * 3600
	// resultArg makes the program write its result where the operator reads it.
	resultArg = "--result=" + corev1.TerminationMessagePathDefault
)

// backupResources are for four groups of PVs, or packs, at a time.
var backupResources = defaults("250m", "512Mi", "1Gi")

// BackupName returns the name of an ArchiveBackup's backup in its destination. It contains a hash of the UID, so another
// object of the same name never takes an old backup for its own.
func BackupName(b *v1alpha1.ArchiveBackup) string { return b.Name + "-" + hash(b.UID) }

// BackupJobName returns the name of the Job that does something for an ArchiveBackup or an ArchiveRestore.
func BackupJobName(of metav1.Object, verb string) string {
	return of.GetName() + "-" + verb + "-" + hash(of.GetUID())
}

// BackupPlace returns a hash of the folder with the backups, and the folder in the pod.
func BackupPlace(archiver string, d *v1alpha1.BackupDestination) (place, dir string) {
	folder := d.PersistentVolumeClaim.Path
	if folder == "" {
		folder = archiver
	}
	return hash([]string{d.PersistentVolumeClaim.ClaimName, folder}), path.Join(BackupDir, folder)
}

// backupJob describes a Job about a backup.
type backupJob struct {
	verb  string
	of    metav1.Object
	kind  string
	place *v1alpha1.BackupDestination
	// args follow the folder with the backups.
	args []string
	// storage gives the pod access to the archive.
	storage bool
	retries int32
}

// BackupJob returns the Job that creates, verifies or deletes a backup.
func BackupJob(in Input, b *v1alpha1.ArchiveBackup, verb string) *batch.JobApplyConfiguration {
	j := backupJob{verb: verb, of: b, kind: v1alpha1.KindArchiveBackup, place: &b.Spec.Destination, retries: backupRetries}
	name := BackupName(b)
	switch verb {
	case CreateBackup:
		j.storage = true
		j.args = []string{"--name=" + name, "--unless-exists", resultArg}
	case VerifyBackup:
		j.args = []string{name, resultArg}
	case DeleteBackup:
		j.args, j.retries = []string{name, "--ignore-not-found"}, deleteRetries
	default:
		panic("BUG: no Job of an ArchiveBackup does " + verb)
	}
	return in.backupJob(j)
}

// RestoreJob returns the Job that restores a backup into an archive.
func RestoreJob(in Input, r *v1alpha1.ArchiveRestore) *batch.JobApplyConfiguration {
	j := backupJob{verb: RestoreBackup, of: r, kind: v1alpha1.KindArchiveRestore, place: &r.Spec.Source, storage: true, retries: backupRetries}
	j.args = []string{r.Spec.BackupName, resultArg}
	if !r.Spec.AllowOtherArchive {
		j.args = append(j.args, "--same-archive")
	}
	return in.backupJob(j)
}

// backupJob returns a Job. A Job that deletes files belongs to the Archiver, because Kubernetes may delete the objects
// that belong to the ArchiveBackup while that is being deleted.
func (in Input) backupJob(j backupJob) *batch.JobApplyConfiguration {
	a := in.Archiver
	place, dir := BackupPlace(a.Name, j.place)
	claim := core.PersistentVolumeClaimVolumeSource().WithClaimName(j.place.PersistentVolumeClaim.ClaimName)
	volumes := []volume{{VolumeApplyConfiguration: core.Volume().WithName("backups").WithPersistentVolumeClaim(claim), path: BackupDir}}
	container := core.Container().
		WithArgs("backup", j.verb, dir).WithArgs(j.args...).
		WithEnv(core.EnvVar().WithName("GOMEMLIMIT").WithValue(goMemory(backupResources))).
		WithResources(requirements(backupResources))
	if j.storage {
		flags, more := storage(a)
		container.WithArgs(fmt.Sprintf("--shards=%d", a.Spec.Shards)).WithArgs(flags...)
		volumes = append(volumes, more...)
	}
	component, label := v1alpha1.ComponentBackup, v1alpha1.LabelBackup
	if j.kind == v1alpha1.KindArchiveRestore {
		component, label = v1alpha1.ComponentRestore, v1alpha1.LabelRestore
	}
	labels := map[string]string{label: j.of.GetName(), v1alpha1.LabelBackupVerb: j.verb, v1alpha1.LabelBackupPlace: place}
	template := in.template(podTemplate{component: component, settings: schemaSettings(a), container: container, volumes: volumes}).
		WithLabels(labels)
	template.Spec.WithAutomountServiceAccountToken(false).WithRestartPolicy(corev1.RestartPolicyNever)
	owner := meta.OwnerReference().WithAPIVersion(v1alpha1.GroupVersion.String()).
		WithKind(j.kind).WithName(j.of.GetName()).WithUID(j.of.GetUID()).WithController(true).WithBlockOwnerDeletion(true)
	if j.verb == DeleteBackup {
		owner.WithKind(v1alpha1.KindArchiver).WithName(a.Name).WithUID(a.UID).WithController(false).WithBlockOwnerDeletion(false)
	}
	return batch.Job(BackupJobName(j.of, j.verb), a.Namespace).
		WithLabels(Labels(a.Name, component)).WithLabels(labels).
		WithOwnerReferences(owner).
		WithSpec(batch.JobSpec().
			WithBackoffLimit(j.retries).
			WithTTLSecondsAfterFinished(keptSeconds).
			WithPodFailurePolicy(backupFailures(component)).
			WithTemplate(template))
}

// backupFailures returns which ends of a pod are not tried again, and which are no failures. Exit code 1 says that rows
// of the archive or packs of the backup are damaged, which another try would not change.
func backupFailures(container string) *batch.PodFailurePolicyApplyConfiguration {
	damaged := batch.PodFailurePolicyRule().WithAction("FailJob").
		WithOnExitCodes(batch.PodFailurePolicyOnExitCodesRequirement().WithContainerName(container).WithOperator("In").WithValues(1))
	evicted := batch.PodFailurePolicyRule().WithAction("Ignore").
		WithOnPodConditions(batch.PodFailurePolicyOnPodConditionsPattern().WithType(corev1.DisruptionTarget).WithStatus(corev1.ConditionTrue))
	return batch.PodFailurePolicy().WithRules(evicted, damaged)
}
