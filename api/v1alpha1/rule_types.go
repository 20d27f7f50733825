package v1alpha1

// Rule defines settings for the PVs of a group whose names match an expression. Each setting that is
// given replaces the group's setting. A rule without settings is an exception: its PVs keep the group's settings.
type Rule struct {
	// match is a regular expression in RE2 syntax that is searched in the canonical PV name. Begin it
	// with ^ and end it with $ to match whole names. It may have at most 300 instructions when it is
	// compiled.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.matches('[{][0-9,]*[0-9]{3}|[)][{][0-9,]*[0-9]{2}|[)][{].*[)][{]')",message="match must not repeat a character more than 99 times or a group more than 9 times, and may repeat only one group by a number"
	// +kubebuilder:validation:XValidation:rule="self.matches('[{][0-9,]*[0-9]{3}|[)][{][0-9,]*[0-9]{2}|[)][{].*[)][{]') || ''.matches(self) || !''.matches(self)",message="match must be a regular expression in RE2 syntax"
	Match string `json:"match,omitempty"`

	// sampling replaces the group's sampling field by field. If it sets mode, the group's period,
	// deadband and maxRate do not apply, because they belong to the group's mode.
	// +optional
	Sampling *Sampling `json:"sampling,omitempty"`

	// enabledBy replaces the group's enabledBy.
	// +optional
	EnabledBy *EnabledBy `json:"enabledBy,omitempty"`

	// properties replaces the group's properties.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	Properties []Property `json:"properties,omitempty"`

	// retention replaces the group's retention.
	// +optional
	Retention *Retention `json:"retention,omitempty"`

	// redundancy replaces the group's redundancy.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2
	Redundancy *int32 `json:"redundancy,omitempty"`

	// paused replaces the group's paused.
	// +optional
	Paused *bool `json:"paused,omitempty"`
}
