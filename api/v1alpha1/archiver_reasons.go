package v1alpha1

// Reasons of StorageReady of an Archiver, which are a column of `kubectl get`.
const (
	// ReasonConnected: engines write to Cassandra.
	ReasonConnected = "Connected"
	// ReasonEmbedded: the engine writes to its volume.
	ReasonEmbedded = "Embedded"
	// ReasonWaitingForSchema: the tables are not made yet.
	ReasonWaitingForSchema = "WaitingForSchema"
	// ReasonSchemaFailed: making the tables failed, and is tried again.
	ReasonSchemaFailed = "SchemaFailed"
	// ReasonAway: engines can not write, and keep samples in memory.
	ReasonAway = "Away"
	// ReasonWaitingForEngine: no engine has reported.
	ReasonWaitingForEngine = "WaitingForEngine"
)

// Reasons of Ready of an Archiver, besides those of StorageReady.
const (
	// ReasonReady: PVs are captured, and the archive can be read.
	ReasonReady = "Ready"
	// ReasonNoEngines: none are wanted.
	ReasonNoEngines = "NoEngines"
	// ReasonEnginesNotReady: some engines are not ready.
	ReasonEnginesNotReady = "EnginesNotReady"
	// ReasonShardsNotCaptured: shards with channels have no engine yet.
	ReasonShardsNotCaptured = "ShardsNotCaptured"
	// ReasonRetrievalNotReady: no retrieval pod is ready.
	ReasonRetrievalNotReady = "RetrievalNotReady"
)

// Reasons of Progressing of an Archiver, besides ReasonRollingOut.
const (
	// ReasonSchemaRuns: tables are being made or checked.
	ReasonSchemaRuns = "SchemaRuns"
	// ReasonShardsMoving: shards are on their way to engines.
	ReasonShardsMoving = "ShardsMoving"
	// ReasonUpToDate: nothing is under way.
	ReasonUpToDate = "UpToDate"
)

// Reasons of Degraded of an Archiver, in the order in which they are looked for.
const (
	// ReasonRefused: the API server refuses an object.
	ReasonRefused = "Refused"
	// ReasonPodSecurity: the namespace does not allow such pods.
	ReasonPodSecurity = "PodSecurity"
	// ReasonFailedCreate: pods can not be made for another reason.
	ReasonFailedCreate = "FailedCreate"
	// ReasonContainerNotCreated: the container of a pod can not be made.
	ReasonContainerNotCreated = "ContainerNotCreated"
	// ReasonCrashing: a container ends again and again.
	ReasonCrashing = "Crashing"
	// ReasonFailedMount: a volume can not be mounted, for instance because a
	// Secret is missing.
	ReasonFailedMount = "FailedMount"
	// ReasonImagePull: the image can not be pulled.
	ReasonImagePull = "ImagePull"
	// ReasonUnschedulable: no Kubernetes node can take a pod.
	ReasonUnschedulable = "Unschedulable"
	// ReasonEngineLost: an engine no longer renews its Lease.
	ReasonEngineLost = "EngineLost"
	// ReasonStorageAway: engines can not write.
	ReasonStorageAway = "StorageAway"
	// ReasonNoReport: the operator can not reach an engine.
	ReasonNoReport = "NoReport"
	// ReasonShardObjectMissing: an ArchiveShard is missing that an engine captures.
	ReasonShardObjectMissing = "ShardObjectMissing"
	// ReasonTooManyCircuits: an IOC has more connections than
	// spec.epics.maxCircuitsPerServer.
	ReasonTooManyCircuits = "TooManyCircuits"
	// ReasonAsExpected: nothing is wrong.
	ReasonAsExpected = "AsExpected"
)
