package v1alpha1

// Fields that are not acted on yet. Support for one deletes its line.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabledBy)",fieldPath=".enabledBy",reason=FieldValueForbidden,message="enabledBy is not supported yet"

// Channel is one PV and its own settings: each that is given replaces the
// group's.
//
// +kubebuilder:validation:XValidation:rule="!has(self.provider) || !self.name.startsWith('ca://') || self.provider == 'CA'",fieldPath=".provider",message="provider contradicts the ca:// of the name"
// +kubebuilder:validation:XValidation:rule="!has(self.provider) || !self.name.startsWith('pva://') || self.provider == 'PVA'",fieldPath=".provider",message="provider contradicts the pva:// of the name"
// +kubebuilder:validation:XValidation:rule="!has(self.fields) || !self.name.startsWith('ca://') && (!has(self.provider) || self.provider == 'PVA')",fieldPath=".fields",message="fields are for provider PVA only"
type Channel struct {
	// name of the PV. ca:// or pva:// in front stands for the provider; .VAL at
	// the end means the same as nothing.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^\S+$`
	Name string `json:"name,omitempty"`

	// provider is the protocol: CA (Channel Access) or PVA (pvAccess). Default:
	// the group's.
	// +optional
	Provider Provider `json:"provider,omitempty"`

	// fields replace the group's.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Fields []FieldPath `json:"fields,omitempty"`

	// sampling replaces the group's field by field. Where it gives mode, the
	// group's period, deadband and maxRate do not apply: they belong to the
	// group's mode.
	// +optional
	Sampling *Sampling `json:"sampling,omitempty"`

	// enabledBy replaces the group's.
	// +optional
	EnabledBy *Gate `json:"enabledBy,omitempty"`

	// properties replace the group's.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	Properties []Property `json:"properties,omitempty"`

	// retention replaces the group's.
	// +optional
	Retention *Retention `json:"retention,omitempty"`

	// redundancy replaces the group's.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2
	Redundancy *int32 `json:"redundancy,omitempty"`

	// paused replaces the group's.
	// +optional
	Paused *bool `json:"paused,omitempty"`
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

// FieldPath names a field of a pvAccess structure, such as value or
// dimension.size, at most 8 levels deep.
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

// ChannelSource is a place outside of the group that lists channels: exactly
// one of its fields is set.
//
// +kubebuilder:validation:ExactlyOneOf=configMap;channelFinder
type ChannelSource struct {
	// configMap has one name per line, in every key, with ca:// or pva:// in
	// front where a provider is meant. A '#' at the start of a line or after a
	// space begins a comment.
	// +optional
	ConfigMap *ConfigMapSource `json:"configMap,omitempty"`
	// channelFinder asks a ChannelFinder service.
	// +optional
	ChannelFinder *ChannelFinderSource `json:"channelFinder,omitempty"`
}

// ConfigMapSource names a ConfigMap in the group's namespace.
type ConfigMapSource struct {
	// name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// ChannelFinderSource is a query to a ChannelFinder service.
type ChannelFinderSource struct {
	// url of the service, for instance http://channelfinder:8080/ChannelFinder.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://\S+$`
	URL string `json:"url,omitempty"`
	// query in ChannelFinder's syntax, for instance "~tag=archive".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Query string `json:"query,omitempty"`
}

// Gate is a condition on the value of another PV.
type Gate struct {
	// channel is the name of the other PV.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^\S+$`
	Channel string `json:"channel,omitempty"`
	// op compares the PV's value (left) with value (right).
	// +required
	// +kubebuilder:validation:Enum="==";"!=";"<";"<=";">";">="
	Op string `json:"op,omitempty"`
	// value to compare with. A float, since PVs are.
	// +required
	Value float64 `json:"value"`
}

// ShardBy has no default in the schema: the default would stay in the object
// when another member of the union is applied over it.

// ShardBy says which PVs go to the same engine: exactly one of its fields is
// set.
//
// +kubebuilder:validation:ExactlyOneOf=channel;prefix;group
type ShardBy struct {
	// channel spreads the PVs one by one.
	// +optional
	Channel *ShardByChannel `json:"channel,omitempty"`
	// prefix keeps PVs together whose names have the same part, for instance
	// the name of an IOC, so that few engines connect to it.
	// +optional
	Prefix *ShardByPrefix `json:"prefix,omitempty"`
	// group keeps the whole group on one engine.
	// +optional
	Group *ShardByGroup `json:"group,omitempty"`
}

// ShardByChannel has no settings.
type ShardByChannel struct{}

// ShardByGroup has no settings.
type ShardByGroup struct{}

// ShardByPrefix takes the key from the PV's name.
type ShardByPrefix struct {
	// regex (RE2 syntax) is searched in the canonical name. The key is the first
	// capture group, or the whole match if it has none. A name without a match
	// is its own key.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="''.matches(self) || !''.matches(self)",message="regex is not a regular expression in RE2 syntax"
	Regex string `json:"regex,omitempty"`
}
