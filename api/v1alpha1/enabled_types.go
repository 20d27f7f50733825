package v1alpha1

// EnabledBy enables the capture of PVs by the value of another PV.
type EnabledBy struct {
	// pv is the name of the other PV. The prefix ca:// or pva:// selects its provider; without one, it has the
	// provider of the PV that it enables. It need not be archived.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^\S+$`
	PV string `json:"pv,omitempty"`

	// when is the condition on the value of pv: a comparison with a number (!= 0, > 0.5), with the name of a
	// state or a string in single quotes (== 'Open'), or between 1 and 3. Default: != 0.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule=`self.matches(r"^ *((==|=|!=|<=|<|>=|>) *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?|(==|=|!=) *'([^']|'')*'|(?i:between) +[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)? +(?i:and) +[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?) *$")`,message="when must be a condition such as != 0, > 0.5, == 'Open' or between 1 and 3; put the name of a state in single quotes"
	When string `json:"when,omitempty"`
}
