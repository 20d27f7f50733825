package v1alpha1

// Labels of the objects of this API group, and of the objects that the operator creates.
const (
	// LabelArchiver is the name of the Archiver that an object belongs to.
	LabelArchiver = "varve.dev/archiver"
	// LabelChannels marks the ConfigMaps that the operator watches. On a ConfigMap that an
	// ArchiveGroup names, it can have any value. On a channel list that the operator creates, its
	// value is ChannelList.
	LabelChannels = "varve.dev/channels"
	// ChannelList is the value of LabelChannels on channel lists.
	ChannelList = "list"
	// EngineLabelPrefix, followed by the name of an engine, is a label of the engine's
	// ArchiveShards. Its value is empty. An engine watches only ArchiveShards with its label.
	EngineLabelPrefix = "engine.varve.dev/"

	// LabelName, LabelInstance, LabelComponent and LabelManagedBy are labels that Kubernetes
	// recommends. The operator sets them on its objects.
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
	ComponentImport    = "import"
	ComponentFinalize  = "finalize"
	ComponentBackup    = "backup"
	ComponentRestore   = "restore"
)

const (
	// AnnotationInternalTLS is, on an engine pod, the InternalTLSMode of its port for /internal. A pod without
	// it uses no TLS there.
	AnnotationInternalTLS = "varve.dev/internal-tls"
	// DataFinalizer keeps an ArchiveGroup with deletionPolicy Delete until its data is deleted.
	DataFinalizer = "varve.dev/delete-data"
	// FieldManager is the operator's field manager for server-side apply.
	FieldManager = "varve-operator"
	// ChannelListKey is the key of a channel list in binaryData of its ConfigMap.
	ChannelListKey = "channels"
)

// EngineLabel returns the label of an engine's ArchiveShards.
func EngineLabel(engine string) string { return EngineLabelPrefix + engine }
