package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SampleDeletion deletes the stored samples of PVs in a range of time.
//
// +kubebuilder:validation:XValidation:rule="has(self.pvs) != has(self.match)",message="set either pvs or match"
// +kubebuilder:validation:XValidation:rule="has(self.match) == has(self.count)",message="set count together with match: the number of PVs of the group that match"
// +kubebuilder:validation:XValidation:rule="!has(self.from) || self.from < self.to",fieldPath=".to",message="to must be after from"
type SampleDeletion struct {
	// pvs are names of PVs. Each must be in this group, or no longer in any group.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	PVs []string `json:"pvs,omitempty"`

	// match is a regular expression in RE2 syntax that is searched in the canonical PV name. It selects PVs of
	// this group. It may have at most 300 instructions when it is compiled.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.matches('[{][0-9,]*[0-9]{3}|[)][{][0-9,]*[0-9]{2}|[)][{].*[)][{]')",message="match must not repeat a character more than 99 times or a group more than 9 times, and may repeat only one group by a number"
	// +kubebuilder:validation:XValidation:rule="self.matches('[{][0-9,]*[0-9]{3}|[)][{][0-9,]*[0-9]{2}|[)][{].*[)][{]') || ''.matches(self) || !''.matches(self)",message="match must be a regular expression in RE2 syntax"
	Match string `json:"match,omitempty"`

	// count is the number of PVs of the group that match. It confirms a deletion by match: if another number of
	// PVs matches, nothing is deleted.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Count *int32 `json:"count,omitempty"`

	// from is the time of the first deleted sample. Default: all samples before to are deleted.
	// +optional
	From *metav1.Time `json:"from,omitempty"`

	// to is the first time whose samples stay. Nothing is deleted before this time.
	// +required
	To *metav1.Time `json:"to,omitempty"`

	// reason says why the samples are deleted, for example "bad calibration". A mark in the archive shows it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^\S[^\n\r\t]*$`
	Reason string `json:"reason,omitempty"`
}

// DeletionState is how far a deletion of samples is.
//
// +kubebuilder:validation:Enum=Waiting;Hidden;Done
type DeletionState string

// States of deletions of samples.
const (
	// DeletionWaiting: readers may still see samples.
	DeletionWaiting DeletionState = "Waiting"
	// DeletionHidden: no reader sees the samples any longer. They are being removed from blocks and rollups.
	DeletionHidden DeletionState = "Hidden"
	// DeletionDone: the samples are also removed from blocks and rollups.
	DeletionDone DeletionState = "Done"
)

// SampleDeletionStatus is how far a deletion of spec.deletions is.
type SampleDeletionStatus struct {
	// index is the place of the deletion in spec.deletions, from 0.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=15
	Index *int32 `json:"index,omitempty"`
	// hash is a hash of the entry in spec.deletions.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Hash string `json:"hash,omitempty"`
	// state is Waiting, Hidden or Done. Hidden: no reader sees the samples any longer. Done: they are also removed
	// from blocks and rollups, and the entry in spec.deletions can be removed.
	// +required
	State DeletionState `json:"state,omitempty"`
	// since is when the operator noticed that the state began.
	// +required
	Since *metav1.Time `json:"since,omitempty"`
	// message says what the deletion waits for.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}
