package v1alpha1

// Reasons of the condition StorageReady of an Archiver. `kubectl get` shows them in a column.
const (
	// ReasonConnected: engines write to Cassandra.
	ReasonConnected = "Connected"
	// ReasonEmbedded: the engine writes to its volume.
	ReasonEmbedded = "Embedded"
	// ReasonWaitingForSchema: the tables are not created yet.
	ReasonWaitingForSchema = "WaitingForSchema"
	// ReasonSchemaFailed: creating the tables failed and is retried.
	ReasonSchemaFailed = "SchemaFailed"
	// ReasonAway: engines cannot write to the storage and keep samples in memory.
	ReasonAway = "Away"
	// ReasonWaitingForEngine: no engine has reported.
	ReasonWaitingForEngine = "WaitingForEngine"
)

// Reasons of the condition Ready of an Archiver, besides those of StorageReady.
const (
	// ReasonReady: engines capture the PVs, and clients can read the archive.
	ReasonReady = "Ready"
	// ReasonNoEngines: spec.engines.replicas is 0.
	ReasonNoEngines = "NoEngines"
	// ReasonRestoring: a backup is being restored into the archive. Reconciling has the same reason.
	ReasonRestoring = "Restoring"
	// ReasonEnginesNotReady: some engines are not ready.
	ReasonEnginesNotReady = "EnginesNotReady"
	// ReasonShardsNotCaptured: some shards with channels have no engine yet.
	ReasonShardsNotCaptured = "ShardsNotCaptured"
	// ReasonRetrievalNotReady: no retrieval pod is ready.
	ReasonRetrievalNotReady = "RetrievalNotReady"
	// ReasonRolloutIncomplete: some pods do not have the pod template of the spec yet.
	ReasonRolloutIncomplete = "RolloutIncomplete"
)

// Reasons of the condition Reconciling of an Archiver, besides ReasonRollingOut.
const (
	// ReasonSchemaRuns: tables are being created or checked.
	ReasonSchemaRuns = "SchemaRuns"
	// ReasonShardsMoving: shards are moving to engines.
	ReasonShardsMoving = "ShardsMoving"
	// ReasonRolloutPaused: spec.paused is true.
	ReasonRolloutPaused = "RolloutPaused"
	// ReasonStalled: a change is not complete, and the condition Stalled says what hinders it.
	ReasonStalled = "Stalled"
	// ReasonUpToDate: no change is in progress.
	ReasonUpToDate = "UpToDate"
)

// Reasons of the condition Stalled, besides those of Degraded.
const (
	// ReasonRolloutTooSlow: pods with a new template did not become ready within 10 minutes.
	ReasonRolloutTooSlow = "RolloutTooSlow"
	// ReasonNotStalled: nothing hinders the spec from taking effect.
	ReasonNotStalled = "NotStalled"
)

// Reasons of the condition Degraded of an Archiver, in the order in which they are checked.
const (
	// ReasonRefused: the API server rejects an object.
	ReasonRefused = "Refused"
	// ReasonPodSecurity: the namespace's pod security standard does not allow the pods.
	ReasonPodSecurity = "PodSecurity"
	// ReasonFailedCreate: pods cannot be created for another reason.
	ReasonFailedCreate = "FailedCreate"
	// ReasonContainerNotCreated: the container of a pod cannot be created.
	ReasonContainerNotCreated = "ContainerNotCreated"
	// ReasonCrashing: a container fails repeatedly.
	ReasonCrashing = "Crashing"
	// ReasonFailedMount: a volume cannot be mounted, for example because a Secret is missing.
	ReasonFailedMount = "FailedMount"
	// ReasonImagePull: the image cannot be pulled.
	ReasonImagePull = "ImagePull"
	// ReasonUnschedulable: no Kubernetes node can run a pod.
	ReasonUnschedulable = "Unschedulable"
	// ReasonEngineLost: an engine no longer renews its Lease.
	ReasonEngineLost = "EngineLost"
	// ReasonEngineBlind: an engine does not reach hosts that other engines reach. Redundant has the
	// same reason.
	ReasonEngineBlind = "EngineBlind"
	// ReasonStorageAway: engines cannot write to the storage.
	ReasonStorageAway = "StorageAway"
	// ReasonSealingLags: samples have been in the journal for so long that they may expire before
	// they are in blocks.
	ReasonSealingLags = "SealingLags"
	// ReasonDataDamaged: engines found stored data that cannot be read.
	ReasonDataDamaged = "DataDamaged"
	// ReasonNoReport: the operator cannot reach an engine.
	ReasonNoReport = "NoReport"
	// ReasonCRDMissing: the CRD of ArchiveGroups or of ArchivePolicies is missing.
	ReasonCRDMissing = "CRDMissing"
	// ReasonShardObjectMissing: an engine captures a shard whose ArchiveShard is missing.
	ReasonShardObjectMissing = "ShardObjectMissing"
	// ReasonEngineClockWrong: the clock of an engine's node is wrong.
	ReasonEngineClockWrong = "EngineClockWrong"
	// ReasonSearchIncomplete: searches of engines do not reach all servers of spec.epics.
	ReasonSearchIncomplete = "SearchIncomplete"
	// ReasonTooManyCircuits: engines have more connections to an IOC than
	// spec.epics.maxCircuitsPerServer.
	ReasonTooManyCircuits = "TooManyCircuits"
	// ReasonMetricsMissing: engines cannot be autoscaled, because the cluster does not serve
	// their CPU usage.
	ReasonMetricsMissing = "MetricsMissing"
	// ReasonAutoscalerFailed: engines cannot be autoscaled for another reason.
	ReasonAutoscalerFailed = "AutoscalerFailed"
	// ReasonAsExpected: there are no problems.
	ReasonAsExpected = "AsExpected"
)

// Reasons of the condition DiskGuard of an Archiver.
const (
	// ReasonNoLimit: no limit is set.
	ReasonNoLimit = "NoLimit"
	// ReasonBelowLimit: the archive uses less than 90 % of its limit.
	ReasonBelowLimit = "BelowLimit"
	// ReasonNearLimit: the archive will reach 90 % of its limit within a week if it grows as before.
	ReasonNearLimit = "NearLimit"
	// ReasonMeasuring: the archive uses more than 90 % of its limit, and more readings of its size
	// are needed before anything is deleted.
	ReasonMeasuring = "Measuring"
	// ReasonOnlyWarning: the archive uses more than 90 % of its limit, and the disk guard must not
	// delete anything.
	ReasonOnlyWarning = "OnlyWarning"
	// ReasonDropping: the oldest raw samples are being deleted.
	ReasonDropping = "Dropping"
	// ReasonWaitingForRoom: enough samples are deleted, but their disk space is not free yet.
	ReasonWaitingForRoom = "WaitingForRoom"
	// ReasonNothingLeft: all raw samples that can be deleted are deleted.
	ReasonNothingLeft = "NothingLeft"
	// ReasonSizeUnknown: the size of the archive is unknown, so nothing is deleted.
	ReasonSizeUnknown = "SizeUnknown"
)

// Reasons of the condition Redundant of an Archiver.
const (
	// ReasonTwoEngines: two engines on different nodes capture each PV with redundancy 2.
	ReasonTwoEngines = "TwoEngines"
	// ReasonOneEngine: the archive has only one engine.
	ReasonOneEngine = "OneEngine"
	// ReasonOneNode: both engines of some shards run on the same node.
	ReasonOneNode = "OneNode"
	// ReasonJoining: second engines are starting to capture some shards.
	ReasonJoining = "Joining"
)

// Reasons of the condition Autoscaling of an Archiver, besides ReasonMetricsMissing and
// ReasonAutoscalerFailed.
const (
	// ReasonFollowingLoad: the number of engines follows their CPU usage.
	ReasonFollowingLoad = "FollowingLoad"
	// ReasonAtMaximum: the load needs more engines than maxReplicas.
	ReasonAtMaximum = "AtMaximum"
	// ReasonResting: spec.engines.replicas is 0.
	ReasonResting = "Resting"
	// ReasonWaitingForMetrics: there are no CPU metrics yet.
	ReasonWaitingForMetrics = "WaitingForMetrics"
)

// Reasons of the condition CassandraReady of an Archiver.
const (
	// ReasonNodesReady: all nodes are up, and each sample has the requested number of replicas.
	ReasonNodesReady = "NodesReady"
	// ReasonCassandraOperatorMissing: the cluster has neither the CRD K8ssandraCluster nor
	// CassandraDatacenter.
	ReasonCassandraOperatorMissing = "CassandraOperatorMissing"
	// ReasonCassandraRefused: the API server or cass-operator rejects the object.
	ReasonCassandraRefused = "CassandraRefused"
	// ReasonCassandraStarting: the first nodes are starting.
	ReasonCassandraStarting = "CassandraStarting"
	// ReasonCassandraStuck: nodes do not start, and an administrator must act.
	ReasonCassandraStuck = "CassandraStuck"
	// ReasonNodesDown: nodes that were up are down.
	ReasonNodesDown = "NodesDown"
	// ReasonCassandraScaling: nodes are joining or leaving.
	ReasonCassandraScaling = "CassandraScaling"
	// ReasonReplicating: the number of replicas is changing, with a repair after each step.
	ReasonReplicating = "Replicating"
	// ReasonReplacingNodes: nodes are being replaced.
	ReasonReplacingNodes = "ReplacingNodes"
	// ReasonCassandraUpdating: nodes are restarting one by one with new settings.
	ReasonCassandraUpdating = "CassandraUpdating"
	// ReasonCassandraStopped: the datacenter is stopped.
	ReasonCassandraStopped = "CassandraStopped"
)

// Reasons of the condition InternalTLS of an Archiver, besides ReasonRollingOut.
const (
	// ReasonInternalTLSRequired: the pods require certificates.
	ReasonInternalTLSRequired = "Required"
	// ReasonInternalTLSOptional: the pods also accept connections without certificates.
	ReasonInternalTLSOptional = "Optional"
	// ReasonNoCertManager: the CRD of Certificates is missing.
	ReasonNoCertManager = "NoCertManager"
	// ReasonNoCertificate: a Certificate is not ready.
	ReasonNoCertificate = "NoCertificate"
)
