package v1alpha1

// ChangeRequests says who may change the channels of a group by HTTP, and which PVs.
//
// +kubebuilder:validation:XValidation:rule="has(self.users) || has(self.groups)",message="requests must name users or groups who may change the group's channels"
type ChangeRequests struct {
	// users may change the group's channels. These are users of spec.retrieval.access of the Archiver, or of
	// the access file of `varve standalone`. The user anonymous is everybody whom access accepts without a name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Users []AccessName `json:"users,omitempty"`

	// groups are groups of users who may change the group's channels.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Groups []AccessName `json:"groups,omitempty"`

	// match is a regular expression in RE2 syntax that is searched in the canonical PV name. Requests
	// may add only PVs that match. It may have at most 300 instructions when it is compiled. Default:
	// all PVs.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.matches('[{][0-9,]*[0-9]{3}|[)][{][0-9,]*[0-9]{2}|[)][{].*[)][{]')",message="match must not repeat a character more than 99 times or a group more than 9 times, and may repeat only one group by a number"
	// +kubebuilder:validation:XValidation:rule="self.matches('[{][0-9,]*[0-9]{3}|[)][{][0-9,]*[0-9]{2}|[)][{].*[)][{]') || ''.matches(self) || !''.matches(self)",message="match must be a regular expression in RE2 syntax"
	Match string `json:"match,omitempty"`
}
