package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PlannedPause pauses the capture of PVs for a time.
//
// +kubebuilder:validation:XValidation:rule="self.from < self.to",fieldPath=".to",message="to must be after from"
type PlannedPause struct {
	// from is when the pause begins, for example 2027-07-01T06:00:00Z.
	// +required
	From *metav1.Time `json:"from,omitempty"`

	// to is when the capture continues. It must be after from.
	// +required
	To *metav1.Time `json:"to,omitempty"`

	// reason says why the capture pauses, for example "shutdown of the storage ring". The mark in the
	// archive shows it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^\S[^\n\r\t]*$`
	Reason string `json:"reason,omitempty"`

	// match is a regular expression in RE2 syntax that is searched in the canonical PV name. Only PVs
	// that match are paused. It may have at most 300 instructions when it is compiled. Default: all
	// PVs of the group.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.matches('[{][0-9,]*[0-9]{3}|[)][{][0-9,]*[0-9]{2}|[)][{].*[)][{]')",message="match must not repeat a character more than 99 times or a group more than 9 times, and may repeat only one group by a number"
	// +kubebuilder:validation:XValidation:rule="self.matches('[{][0-9,]*[0-9]{3}|[)][{][0-9,]*[0-9]{2}|[)][{].*[)][{]') || ''.matches(self) || !''.matches(self)",message="match must be a regular expression in RE2 syntax"
	Match string `json:"match,omitempty"`
}
