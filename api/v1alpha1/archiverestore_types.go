package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ArchiveRestore restores a backup into an empty archive. The operator does it by a Job that runs `varve backup
// restore`, once the Archiver has no engines.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ar,categories=varve
// +kubebuilder:printcolumn:name="Archiver",type=string,JSONPath=`.spec.archiverRef.name`
// +kubebuilder:printcolumn:name="Backup",type=string,JSONPath=`.spec.backupName`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].reason`
// +kubebuilder:printcolumn:name="PVs",type=integer,JSONPath=`.status.pvs`
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.status.size`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 46 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must have at most 46 lower-case letters, digits and '-', and start and end with a letter or digit: names of Jobs and labels contain it"
type ArchiveRestore struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines which backup is restored into which archive. It cannot be changed.
	// +required
	Spec ArchiveRestoreSpec `json:"spec,omitzero"`
	// status is what the operator observed. Before that, Complete is Unknown.
	// +optional
	// +kubebuilder:default={conditions: {{type: "Complete", status: "Unknown", reason: "Pending", message: "the operator has not seen this object yet", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "Reconciling", status: "True", reason: "Pending", message: "the operator has not seen this object yet", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status *ArchiveRestoreStatus `json:"status,omitempty"`
}

// ArchiveRestoreList is a list of ArchiveRestores.
//
// +kubebuilder:object:root=true
type ArchiveRestoreList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ArchiveRestore `json:"items"`
}

// ArchiveRestoreSpec defines which backup is restored into which archive.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec cannot be changed: create another ArchiveRestore"
type ArchiveRestoreSpec struct {
	// archiverRef names the Archiver in the same namespace into whose archive the backup is restored. Set its
	// spec.engines.replicas to 0 first; the restore waits until it has no engines.
	// +required
	ArchiverRef ArchiverReference `json:"archiverRef,omitzero"`

	// source is where the backup is.
	// +required
	Source BackupDestination `json:"source,omitzero"`

	// backupName is the name of the backup there: status.backupName of an ArchiveBackup, or a name of `varve backup
	// list`.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9._-]*$')",message="backupName must be the name of a backup: letters, digits, '.', '_' and '-', and a letter or digit at its beginning"
	BackupName string `json:"backupName,omitempty"`

	// into says what the archive may contain. Empty is the only value: the archive has no rows, apart from those of an
	// interrupted restore of the same backup.
	// +optional
	// +kubebuilder:default=Empty
	Into RestoreInto `json:"into,omitempty"`

	// allowOtherArchive allows a backup of an archive with another keyspace or directory. Default: such a backup is
	// refused, so that nobody restores the archive of another team by mistake.
	// +optional
	AllowOtherArchive bool `json:"allowOtherArchive,omitempty"`
}

// RestoreInto says what an archive may contain before a restore.
//
// +kubebuilder:validation:Enum=Empty
type RestoreInto string

// IntoEmpty means that the archive must be empty.
const IntoEmpty RestoreInto = "Empty"

// ArchiveRestoreStatus is what the operator observed.
type ArchiveRestoreStatus struct {
	// conditions are Complete, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// startTime is when the operator created the Job.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the archive was restored, or the restore had failed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	BackupContent  `json:",inline"`
	// expiredRows is the number of blocks and rollups that were left out, because they have expired since the backup.
	// +optional
	ExpiredRows int64 `json:"expiredRows,omitempty"`
}
