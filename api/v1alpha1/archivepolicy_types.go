package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ArchivePolicy says who owns and who may read the PVs whose names begin with its prefixes. It is for
// administrators: people who edit ArchiveGroups need no right to read or change it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=archivepolicies,shortName=ap,categories=varve
// +kubebuilder:printcolumn:name="Archiver",type=string,JSONPath=`.spec.archiverRef.name`
// +kubebuilder:printcolumn:name="Prefixes",type=string,JSONPath=`.spec.prefixes`
// +kubebuilder:printcolumn:name="Enforcement",type=string,JSONPath=`.spec.enforcement`
// +kubebuilder:printcolumn:name="Channels",type=integer,JSONPath=`.status.channels`,description="Channels that its owners archive"
// +kubebuilder:printcolumn:name="Refused",type=integer,JSONPath=`.status.refused`,description="Channels that it forbids groups to archive"
// +kubebuilder:printcolumn:name="Effective",type=string,JSONPath=`.status.conditions[?(@.type=="Effective")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ArchivePolicy struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines who owns and who may read which PVs.
	// +required
	Spec ArchivePolicySpec `json:"spec,omitzero"`
	// status is what the operator observed. Before that, Effective is Unknown, so that nobody takes a new
	// policy for an effective one.
	// +optional
	// +kubebuilder:default={conditions: {{type: "Effective", status: "Unknown", reason: "Pending", message: "the operator has not seen this object yet", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "Reconciling", status: "True", reason: "Pending", message: "the operator has not seen this object yet", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status *ArchivePolicyStatus `json:"status,omitempty"`
}

// ArchivePolicyList is a list of ArchivePolicies.
//
// +kubebuilder:object:root=true
type ArchivePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ArchivePolicy `json:"items"`
}

// ArchivePolicySpec defines who owns and who may read which PVs.
//
// +kubebuilder:validation:XValidation:rule="has(self.readers) || has(self.owners.groups) || has(self.owners.users)",fieldPath=".readers",message="nobody could read these PVs: set readers, owners.groups or owners.users; with {everybody: true} everybody may read"
type ArchivePolicySpec struct {
	// archiverRef names the Archiver in the same namespace whose PVs the policy is about.
	// +required
	ArchiverRef ArchiverReference `json:"archiverRef,omitzero"`

	// prefixes are beginnings of names of PVs, such as "SR:VAC:". If prefixes of several policies match a
	// PV, the longest decides. If several policies have it, each must agree. "*" stands for all PVs.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Prefixes []PVPrefix `json:"prefixes,omitempty"`

	// owners may archive the PVs, change their retention, delete their data, and read them.
	// +required
	Owners PolicyOwners `json:"owners,omitzero"`

	// readers may read the PVs, in addition to the users and groups of owners. Default: nobody else.
	// spec.retrieval.access of the Archiver must admit a reader, too.
	// +optional
	Readers *PolicyReaders `json:"readers,omitempty"`

	// enforcement is Enforce (the default) or Warn. With Warn the policy has no effect, and its status says what
	// it would have.
	// +optional
	// +kubebuilder:default=Enforce
	Enforcement PolicyEnforcement `json:"enforcement,omitempty"`
}

// PolicyEnforcement is whether a policy has an effect.
//
// +kubebuilder:validation:Enum=Enforce;Warn
type PolicyEnforcement string

// Enforcements.
const (
	// EnforcePolicy means that the policy has an effect.
	EnforcePolicy PolicyEnforcement = "Enforce"
	// WarnOfPolicy means that the status says what the policy would do.
	WarnOfPolicy PolicyEnforcement = "Warn"
)

// PVPrefix is the beginning of names of PVs, or "*".
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:XValidation:rule="self == '*' || !self.matches('[*?]')",message="a prefix has no wildcards: write SR:VAC: for all PVs that begin so, and * alone for all PVs"
// +kubebuilder:validation:XValidation:rule="self.matches('^[^ .]+$') && !self.startsWith('ca://') && !self.startsWith('pva://')",message="write the beginning of names of records, without ca://, pva://, spaces and '.': a policy for a record holds for its fields, too"
type PVPrefix string

// PolicyOwners are the ArchiveGroups that may archive the PVs of a policy, and the people to whom these belong.
//
// +kubebuilder:validation:MinProperties=1
type PolicyOwners struct {
	// archiveGroups are the names of the ArchiveGroups that may archive these PVs. A name that ends in *,
	// such as vacuum-*, stands for all names that begin so. Default: no group may archive them; their data stays.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?|[a-z0-9][-a-z0-9.]*\*|\*)$`
	ArchiveGroups []string `json:"archiveGroups,omitempty"`
	// groups are groups of people, who may edit these ArchiveGroups if their role in Kubernetes allows it,
	// and may read the PVs.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Groups []AccessName `json:"groups,omitempty"`
	// users are people, or service accounts such as system:serviceaccount:argocd:argocd-application-controller.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Users []AccessName `json:"users,omitempty"`
}

// PolicyReaders are those who may read the PVs of a policy.
//
// +kubebuilder:validation:XValidation:rule="(has(self.everybody) && self.everybody) || has(self.groups) || has(self.users)",message="readers require groups, users or everybody: true"
type PolicyReaders struct {
	// everybody means everybody whom spec.retrieval.access of the Archiver admits.
	// +optional
	Everybody bool `json:"everybody,omitempty"`
	// groups are groups of readers.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Groups []AccessName `json:"groups,omitempty"`
	// users are readers.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Users []AccessName `json:"users,omitempty"`
}

// ArchivePolicyStatus is what the operator observed.
type ArchivePolicyStatus struct {
	// conditions are Effective, Reconciling and Warning.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// channels is the number of channels of the policy that ArchiveGroups archive.
	// +optional
	Channels int32 `json:"channels"`
	// refused is the number of channels of ArchiveGroups that the policy refuses. With enforcement Warn, it
	// would refuse them.
	// +optional
	Refused int32 `json:"refused"`
}

// Conditions of an ArchivePolicy, and their reasons.
const (
	// ConditionEffective is true when the policy decides who may archive and read its PVs.
	ConditionEffective = "Effective"
	// ConditionWarning is true when the policy may not do what its author wants.
	ConditionWarning = "Warning"

	// ReasonEnforced: the policy has an effect.
	ReasonEnforced = "Enforced"
	// ReasonWarnOnly: enforcement is Warn.
	ReasonWarnOnly = "WarnOnly"
	// ReasonCheckPolicy: the message says what to check.
	ReasonCheckPolicy = "CheckPolicy"
)
