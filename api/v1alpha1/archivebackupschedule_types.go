package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ArchiveBackupSchedule creates ArchiveBackups at regular times, and deletes the oldest ones.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=abs,categories=varve
// +kubebuilder:printcolumn:name="Archiver",type=string,JSONPath=`.spec.template.archiverRef.name`
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Scheduled")].reason`
// +kubebuilder:printcolumn:name="Last success",type=date,JSONPath=`.status.lastSuccessTime`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextTime`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.failed`,description="Backups that failed since the last one that did not"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 33 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must have at most 33 lower-case letters, digits and '-', and start and end with a letter or digit: names of ArchiveBackups and labels contain it"
type ArchiveBackupSchedule struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines when backups are made, and how many are kept.
	// +required
	Spec ArchiveBackupScheduleSpec `json:"spec,omitzero"`
	// status is what the operator observed. Before that, Scheduled is Unknown.
	// +optional
	// +kubebuilder:default={conditions: {{type: "Scheduled", status: "Unknown", reason: "Pending", message: "the operator has not seen this object yet", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "Reconciling", status: "True", reason: "Pending", message: "the operator has not seen this object yet", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status *ArchiveBackupScheduleStatus `json:"status,omitempty"`
}

// ArchiveBackupScheduleList is a list of ArchiveBackupSchedules.
//
// +kubebuilder:object:root=true
type ArchiveBackupScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ArchiveBackupSchedule `json:"items"`
}

// ArchiveBackupScheduleSpec defines when backups are made, and how many are kept.
type ArchiveBackupScheduleSpec struct {
	// schedule says when backups begin, in the format of cron: minute, hour, day of the month, month and day of the
	// week, such as "30 1 * * *" for 01:30 every day. A backup does not begin while the former one of this schedule
	// runs or waits. If backups could not begin in time, one begins as soon as possible.
	// +required
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-0-9A-Za-z*/,?]+( +[-0-9A-Za-z*/,?]+){4}$')",message="schedule must have five fields, as in cron: minute, hour, day of the month, month and day of the week, such as 30 1 * * *; timeZone sets the time zone"
	Schedule string `json:"schedule,omitempty"`

	// timeZone is the name of the time zone of schedule, such as Europe/Berlin. A time that does not exist on the day on
	// which summer time begins is left out on that day; a time that exists twice begins two backups. Default: UTC.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self != 'Local' && self.matches('^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$')",message="timeZone must be the name of a time zone, such as Europe/Berlin or UTC"
	TimeZone string `json:"timeZone,omitempty"`

	// suspend stops the schedule. Backups that were due meanwhile do not begin later.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// keep is how many complete backups of this schedule are kept. The operator deletes the ArchiveBackups of older
	// ones, and template.deletionPolicy decides about their files. Default: all are kept.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Keep *int32 `json:"keep,omitempty"`

	// template is the spec of the ArchiveBackups. Its deletionPolicy is Delete by default. A change affects later
	// backups.
	// +required
	Template BackupTemplate `json:"template,omitzero"`
}

// BackupTemplate is the spec of the ArchiveBackups of a schedule.
type BackupTemplate struct {
	// archiverRef names the Archiver in the same namespace whose archive is backed up.
	// +required
	ArchiverRef ArchiverReference `json:"archiverRef,omitzero"`
	// destination is where the backups are stored.
	// +required
	Destination BackupDestination `json:"destination,omitzero"`
	// verify makes the operator read each backup again, and compare it with what was written.
	// +optional
	Verify bool `json:"verify,omitempty"`
	// deletionPolicy defines what deleting an ArchiveBackup does to the files of the backup.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// ArchiveBackupScheduleStatus is what the operator observed.
type ArchiveBackupScheduleStatus struct {
	// conditions are Scheduled, Degraded, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// schedule is the schedule and its time zone that are in effect since the time in since. It is empty while no
	// backups are scheduled.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Schedule string `json:"schedule,omitempty"`
	// since is when the operator first saw this schedule. Backups that were due before it do not begin.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// lastTime is the last time of the schedule for which a backup has begun or was skipped.
	// +optional
	LastTime *metav1.Time `json:"lastTime,omitempty"`
	// lastBackup is the name of the latest ArchiveBackup.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	LastBackup string `json:"lastBackup,omitempty"`
	// lastSuccessTime is the time before which all acknowledged samples are in the latest complete backup.
	// +optional
	LastSuccessTime *metav1.Time `json:"lastSuccessTime,omitempty"`
	// nextTime is when the next backup begins.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`
	// failed is the number of backups that failed since the last one that did not.
	// +optional
	Failed int32 `json:"failed,omitempty"`
}
