package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Channel is one PV with its own settings. Each setting that is given replaces the group's
// setting.
//
// +kubebuilder:validation:XValidation:rule="!has(self.provider) || !self.name.startsWith('ca://') || self.provider == 'CA'",fieldPath=".provider",message="provider must be CA or unset: the name starts with ca://"
// +kubebuilder:validation:XValidation:rule="!has(self.provider) || !self.name.startsWith('pva://') || self.provider == 'PVA'",fieldPath=".provider",message="provider must be PVA or unset: the name starts with pva://"
// +kubebuilder:validation:XValidation:rule="!has(self.fields) || !self.name.startsWith('ca://') && (!has(self.provider) || self.provider == 'PVA')",fieldPath=".fields",message="fields requires provider PVA"
type Channel struct {
	// name is the name of the PV. The prefix ca:// or pva:// selects the provider. The suffix
	// .VAL is ignored.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^\S+$`
	Name string `json:"name,omitempty"`

	// provider is the protocol: CA (Channel Access) or PVA (pvAccess). Default: the group's
	// provider.
	// +optional
	Provider Provider `json:"provider,omitempty"`

	// formerly are names that the PV had before. Reads of the PV also return the samples that were
	// stored under these names before Varve was first connected to the PV under its present name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Formerly []PVName `json:"formerly,omitempty"`

	// aliases are other names under which IOCs serve the PV now. The PV is archived once, under its
	// name. Reads and searches find it by its aliases, too.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Aliases []PVName `json:"aliases,omitempty"`

	// fields replaces the group's fields.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Fields []FieldPath `json:"fields,omitempty"`

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

	// expiresAt is when the capture of the PV ends. Stored data is kept as retention defines. The
	// group's expiresAt also ends the capture.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self > timestamp('1970-01-01T00:00:00Z')",message="expiresAt must be a time such as 2027-06-30T00:00:00Z"
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
}

// Provider is a protocol.
//
// +kubebuilder:validation:Enum=CA;PVA
type Provider string

// Providers.
const (
	ChannelAccess Provider = "CA"
	PVAccess      Provider = "PVA"
)

// FieldPath is the path of a field in a pvAccess structure, such as value or dimension.size. It
// has at most 8 levels.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){0,7}$`
type FieldPath string

// Property is the name of a field of an EPICS record.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^[A-Z][A-Z0-9_]*$`
type Property string

// ChannelSource is a source outside the group that lists channels. Exactly one of its fields must
// be set.
//
// +kubebuilder:validation:ExactlyOneOf=configMap;channelFinder
type ChannelSource struct {
	// configMap names a ConfigMap that has one PV name per line, in every key. The prefix ca://
	// or pva:// selects the provider. A '#' at the start of a line or after a space begins a
	// comment.
	// +optional
	ConfigMap *ConfigMapSource `json:"configMap,omitempty"`
	// channelFinder queries a ChannelFinder service.
	// +optional
	ChannelFinder *ChannelFinderSource `json:"channelFinder,omitempty"`
}

// ConfigMapSource names a ConfigMap in the group's namespace.
type ConfigMapSource struct {
	// name is the name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// ChannelFinderSource is a query to a ChannelFinder service.
type ChannelFinderSource struct {
	// url is the URL of the service, for example http://channelfinder:8080/ChannelFinder.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://\S+$`
	URL string `json:"url,omitempty"`
	// query is a query in ChannelFinder's syntax, for example "~tag=archive".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Query string `json:"query,omitempty"`
}

// ShardBy has no default in the schema, because the default would stay in the object when a user
// applies another member of the union.

// ShardBy defines which PVs are captured by the same engine. Exactly one of its fields must be
// set.
//
// +kubebuilder:validation:ExactlyOneOf=channel;prefix;group
type ShardBy struct {
	// channel distributes the PVs one by one.
	// +optional
	Channel *ShardByChannel `json:"channel,omitempty"`
	// prefix keeps PVs whose names share a part on the same engine. With the name of an IOC as
	// that part, few engines connect to each IOC.
	// +optional
	Prefix *ShardByPrefix `json:"prefix,omitempty"`
	// group keeps all PVs of the group on one engine.
	// +optional
	Group *ShardByGroup `json:"group,omitempty"`
}

// ShardByChannel has no settings.
type ShardByChannel struct{}

// ShardByGroup has no settings.
type ShardByGroup struct{}

// ShardByPrefix derives the key from the name of the PV.
type ShardByPrefix struct {
	// regex is a regular expression in RE2 syntax that is searched in the canonical PV name. The
	// key is the first capture group, or the whole match if there is no group. A name without a
	// match is its own key.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="''.matches(self) || !''.matches(self)",message="regex must be a regular expression in RE2 syntax"
	Regex string `json:"regex,omitempty"`
}
