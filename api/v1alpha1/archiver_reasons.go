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
	// ReasonMetricsMissing: engines can not be autoscaled, for nobody says how much
	// CPU they take.
	ReasonMetricsMissing = "MetricsMissing"
	// ReasonAutoscalerFailed: engines can not be autoscaled for another reason.
	ReasonAutoscalerFailed = "AutoscalerFailed"
	// ReasonAsExpected: nothing is wrong.
	ReasonAsExpected = "AsExpected"
)

// Reasons of DiskGuard of an Archiver.
const (
	// ReasonNoLimit: the archive may take as much disk as there is.
	ReasonNoLimit = "NoLimit"
	// ReasonBelowLimit: the archive takes less than 90 % of its limit.
	ReasonBelowLimit = "BelowLimit"
	// ReasonDropping: the oldest raw samples are being deleted.
	ReasonDropping = "Dropping"
	// ReasonWaitingForRoom: enough was deleted, and its room is not free yet.
	ReasonWaitingForRoom = "WaitingForRoom"
	// ReasonNothingLeft: all raw samples are deleted that may be.
	ReasonNothingLeft = "NothingLeft"
	// ReasonSizeUnknown: nobody says how large the archive is, so nothing is deleted.
	ReasonSizeUnknown = "SizeUnknown"
)

// Reasons of Redundant of an Archiver.
const (
	// ReasonTwoEngines: two engines on different nodes capture what asks for it.
	ReasonTwoEngines = "TwoEngines"
	// ReasonOneEngine: there is one engine only.
	ReasonOneEngine = "OneEngine"
	// ReasonOneNode: both engines of some shards run on one node.
	ReasonOneNode = "OneNode"
	// ReasonEngineBlind: an engine does not reach channels that the other engine has
	// connected.
	ReasonEngineBlind = "EngineBlind"
	// ReasonJoining: second engines are about to capture some shards.
	ReasonJoining = "Joining"
)

// Reasons of Autoscaling of an Archiver, besides ReasonMetricsMissing and
// ReasonAutoscalerFailed.
const (
	// ReasonFollowingLoad: the number of engines follows their CPU.
	ReasonFollowingLoad = "FollowingLoad"
	// ReasonAtMaximum: more engines are needed than maxReplicas.
	ReasonAtMaximum = "AtMaximum"
	// ReasonResting: spec.engines.replicas is 0.
	ReasonResting = "Resting"
	// ReasonWaitingForMetrics: the first figures of CPU have not come yet.
	ReasonWaitingForMetrics = "WaitingForMetrics"
)

// Reasons of CassandraReady of an Archiver.
const (
	// ReasonNodesReady: all nodes are up, and the archive has its replicas.
	ReasonNodesReady = "NodesReady"
	// ReasonCassandraOperatorMissing: neither K8ssandraCluster nor CassandraDatacenter is
	// a kind of the cluster.
	ReasonCassandraOperatorMissing = "CassandraOperatorMissing"
	// ReasonCassandraRefused: the API server, or cass-operator, does not take the object.
	ReasonCassandraRefused = "CassandraRefused"
	// ReasonCassandraStarting: the first nodes are on their way.
	ReasonCassandraStarting = "CassandraStarting"
	// ReasonCassandraStuck: nodes do not come up, and somebody has to do something.
	ReasonCassandraStuck = "CassandraStuck"
	// ReasonNodesDown: nodes that were up are not.
	ReasonNodesDown = "NodesDown"
	// ReasonCassandraScaling: nodes join or leave.
	ReasonCassandraScaling = "CassandraScaling"
	// ReasonReplicating: the number of replicas changes, with a repair for each step.
	ReasonReplicating = "Replicating"
	// ReasonReplacingNodes: nodes are being replaced.
	ReasonReplacingNodes = "ReplacingNodes"
	// ReasonCassandraUpdating: nodes restart one by one with other settings.
	ReasonCassandraUpdating = "CassandraUpdating"
	// ReasonCassandraStopped: somebody stopped the datacenter.
	ReasonCassandraStopped = "CassandraStopped"
)
