package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// UpgradeSpec defines when the operator finalizes an upgrade. Until then you can go back to the former release.
//
// +kubebuilder:validation:XValidation:rule="!has(self.finalizeAfter) || self.finalize == 'Automatic'",fieldPath=".finalizeAfter",message="finalizeAfter is for finalize: Automatic; set finalize to Automatic, or remove finalizeAfter"
type UpgradeSpec struct {
	// finalize is Manual (the default) or Automatic. With Manual, the operator never finalizes an upgrade: you
	// can go back to the former release until you set Automatic or run `varve store finalize`. With Automatic, the
	// operator runs that command in a Job when all engines and retrieval pods have worked with the new release for
	// finalizeAfter. Afterwards, the former release refuses the archive. The condition Finalized and status.format
	// show whether you can go back. With storage.embedded, only Manual is possible: see docs/compatibility.md.
	// +optional
	// +kubebuilder:default=Manual
	Finalize FinalizeMode `json:"finalize,omitempty"`

	// finalizeAfter is how long you can go back after all pods of the new release began to work. 0s finalizes as
	// soon as they work. Default: 7d.
	// +optional
	FinalizeAfter Duration `json:"finalizeAfter,omitempty"`
}

// FinalizeMode is whether the operator finalizes upgrades.
//
// +kubebuilder:validation:Enum=Automatic;Manual
type FinalizeMode string

// Modes of finalizing.
const (
	FinalizeAutomatic FinalizeMode = "Automatic"
	FinalizeManual    FinalizeMode = "Manual"
)

// FormatStatus has the format level of the archive, which says which releases can use it: docs/compatibility.md
// lists the levels. Levels are as the engines last reported them.
type FormatStatus struct {
	// level is the format level of the archive. Releases that do not know it refuse the archive.
	// +optional
	Level int32 `json:"level,omitempty"`
	// latest is the highest format level that all engines know. Finalizing raises level to it.
	// +optional
	Latest int32 `json:"latest,omitempty"`
	// workingSince is when all pods had begun to work with a release that knows latest. It is empty before that,
	// and if there is nothing to finalize.
	// +optional
	WorkingSince *metav1.Time `json:"workingSince,omitempty"`
}

// ConditionFinalized of an Archiver is true if the archive has the latest format level that its pods know. While it
// is false, you can go back to the former release. Only archives whose engines report levels have it.
const ConditionFinalized = "Finalized"

// Reasons of the condition Finalized of an Archiver, besides ReasonUpToDate.
const (
	// ReasonWaitingForPods: the upgrade cannot be finalized yet, because a pod does not work with the new release.
	ReasonWaitingForPods = "WaitingForPods"
	// ReasonCanBeFinalized: the upgrade can be finalized, and the operator does not do it.
	ReasonCanBeFinalized = "CanBeFinalized"
	// ReasonScheduled: the operator finalizes the upgrade later.
	ReasonScheduled = "Scheduled"
	// ReasonFinalizing: the Job that finalizes the upgrade runs.
	ReasonFinalizing = "Finalizing"
	// ReasonFinalizeFailed: the Job that finalizes the upgrade fails and is retried. Degraded has the same reason.
	ReasonFinalizeFailed = "FinalizeFailed"
	// ReasonFormatTooNew: the archive was finalized by a later release than the operator's. Degraded has this reason.
	ReasonFormatTooNew = "FormatTooNew"
)
