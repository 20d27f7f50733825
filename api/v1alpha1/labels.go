package v1alpha1

// Labels of objects of this group and of what the operator makes of them.
const (
	// LabelArchiver has the name of the Archiver that an object belongs to.
	LabelArchiver = "varve.dev/archiver"
	// LabelChannels marks ConfigMaps that the operator looks at. On a ConfigMap
	// that an ArchiveGroup names it has any value; on channel lists that the
	// operator makes it is ChannelList.
	LabelChannels = "varve.dev/channels"
	// ChannelList is the value of LabelChannels on channel lists.
	ChannelList = "list"
	// EngineLabelPrefix precedes the name of an engine in a label of the
	// ArchiveShards that name it, whose value is empty. So an engine watches
	// only its own.
	EngineLabelPrefix = "engine.varve.dev/"

	// LabelName, LabelInstance, LabelComponent and LabelManagedBy are Kubernetes'
	// recommended labels, which the operator's objects have.
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelComponent = "app.kubernetes.io/component"
	LabelManagedBy = "app.kubernetes.io/managed-by"
)

// Values of LabelComponent.
const (
	ComponentEngine    = "engine"
	ComponentRetrieval = "retrieval"
	ComponentSchema    = "schema"
)

const (
	// DataFinalizer keeps an ArchiveGroup with deletionPolicy Delete until its
	// data is gone.
	DataFinalizer = "varve.dev/delete-data"
	// FieldManager is the operator's, for server-side apply.
	FieldManager = "varve-operator"
	// ChannelListKey is the key of a channel list in binaryData of its ConfigMap.
	ChannelListKey = "channels"
)

// EngineLabel returns the label of the ArchiveShards of an engine.
func EngineLabel(engine string) string { return EngineLabelPrefix + engine }
