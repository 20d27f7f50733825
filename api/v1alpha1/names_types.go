package v1alpha1

// PVName is the name of a PV. The prefix ca:// or pva:// and the suffix .VAL are ignored.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:Pattern=`^\S+$`
type PVName string
