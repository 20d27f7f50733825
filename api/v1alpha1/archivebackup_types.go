package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ArchiveBackup is one backup of an archive. The operator makes it by a Job that runs `varve backup create`.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ab,categories=varve
// +kubebuilder:printcolumn:name="Archiver",type=string,JSONPath=`.spec.archiverRef.name`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].reason`
// +kubebuilder:printcolumn:name="PVs",type=integer,JSONPath=`.status.pvs`
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.status.size`,description="Size of all files of the backup; backups share files"
// +kubebuilder:printcolumn:name="Verified",type=string,JSONPath=`.status.conditions[?(@.type=="Verified")].status`
// +kubebuilder:printcolumn:name="Backup",type=string,JSONPath=`.status.backupName`,description="Name of the backup in its destination"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 46 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must have at most 46 lower-case letters, digits and '-', and start and end with a letter or digit: names of Jobs and labels contain it"
type ArchiveBackup struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines what is backed up, and where.
	// +required
	Spec ArchiveBackupSpec `json:"spec,omitzero"`
	// status is what the operator observed. Before that, Complete is Unknown.
	// +optional
	// +kubebuilder:default={conditions: {{type: "Complete", status: "Unknown", reason: "Pending", message: "the operator has not seen this object yet", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "Reconciling", status: "True", reason: "Pending", message: "the operator has not seen this object yet", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status *ArchiveBackupStatus `json:"status,omitempty"`
}

// ArchiveBackupList is a list of ArchiveBackups.
//
// +kubebuilder:object:root=true
type ArchiveBackupList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ArchiveBackup `json:"items"`
}

// ArchiveBackupSpec defines what is backed up, and where. Only deletionPolicy can be changed later.
//
// +kubebuilder:validation:XValidation:rule="self.archiverRef == oldSelf.archiverRef",fieldPath=".archiverRef",message="archiverRef cannot be changed: create another ArchiveBackup"
// +kubebuilder:validation:XValidation:rule="self.destination == oldSelf.destination",fieldPath=".destination",message="destination cannot be changed: create another ArchiveBackup"
// +kubebuilder:validation:XValidation:rule="(has(self.verify) && self.verify) == (has(oldSelf.verify) && oldSelf.verify)",fieldPath=".verify",message="verify cannot be changed: create another ArchiveBackup"
type ArchiveBackupSpec struct {
	// archiverRef names the Archiver in the same namespace whose archive is backed up.
	// +required
	ArchiverRef ArchiverReference `json:"archiverRef,omitzero"`

	// destination is where the backup is stored.
	// +required
	Destination BackupDestination `json:"destination,omitzero"`

	// verify makes the operator read the whole backup again, and compare it with what was written. The condition
	// Verified says the result.
	// +optional
	Verify bool `json:"verify,omitempty"`

	// deletionPolicy defines what deleting this object does to the files of the backup. Retain keeps them. Delete
	// deletes the files that no other backup needs, before this object disappears. Default: Retain; in the template
	// of an ArchiveBackupSchedule: Delete.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// BackupDestination is a place for backups. Exactly one of its fields must be set.
//
// +kubebuilder:validation:ExactlyOneOf=persistentVolumeClaim
type BackupDestination struct {
	// persistentVolumeClaim is a folder of a volume. If pods on several nodes use the volume at a time, it needs the
	// access mode ReadWriteMany.
	// +optional
	PersistentVolumeClaim *BackupVolumeClaim `json:"persistentVolumeClaim,omitempty"`
}

// BackupVolumeClaim is a folder of a volume.
type BackupVolumeClaim struct {
	// claimName is the name of a PersistentVolumeClaim in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ClaimName string `json:"claimName,omitempty"`
	// path is the folder, which only has backups, and is created if it does not exist. "." is the volume itself.
	// Default: the name of the Archiver.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '.' || self.matches('^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$')",message="path must be a folder below the volume, such as epics/main: letters, digits, '.', '_' and '-', without a '/' at its beginning or end; or '.' for the volume itself"
	Path string `json:"path,omitempty"`
}

// ArchiveBackupStatus is what the operator observed.
type ArchiveBackupStatus struct {
	// conditions are Complete, Verified, Degraded, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// backupName is the name of the backup in its destination. An ArchiveRestore names it.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	BackupName string `json:"backupName,omitempty"`
	// startTime is when the operator created the Job.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the backup was complete, or had failed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	BackupContent  `json:",inline"`
	// newBytes is the size of the files that did not exist before this backup.
	// +optional
	NewBytes int64 `json:"newBytes,omitempty"`
	// damagedRows is the number of rows that the archive could not return whole, so that the backup lacks them.
	// +optional
	DamagedRows int64 `json:"damagedRows,omitempty"`
}

// BackupContent says what a backup contains.
type BackupContent struct {
	// completeUntil is the time before which all acknowledged samples are in the backup.
	// +optional
	CompleteUntil *metav1.Time `json:"completeUntil,omitempty"`
	// pvs is the number of PVs.
	// +optional
	PVs *int64 `json:"pvs,omitempty"`
	// blocks is the number of blocks of samples.
	// +optional
	Blocks int64 `json:"blocks,omitempty"`
	// bytes is the size of all files of the backup. Backups in a folder share files.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// size is bytes for people, such as "1.5 GiB".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Size string `json:"size,omitempty"`
	// source says which archive the backup is of, such as "keyspace epics__main".
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Source string `json:"source,omitempty"`
}
