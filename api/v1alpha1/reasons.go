package v1alpha1

// ConditionRetentionApplied of an ArchiveGroup is true when engines keep data for as long as its
// retention defines. Only groups with a retention have it.
const ConditionRetentionApplied = "RetentionApplied"

// Reasons of the conditions of an ArchiveGroup.
const (
	// ReasonPending: the operator has not seen the object yet. It is the default of new objects.
	ReasonPending = "Pending"
	// ReasonCaptured: engines capture all channels (Ready), with the current settings of the
	// group (Reconciling).
	ReasonCaptured = "Captured"
	// ReasonPaused: all channels are paused.
	ReasonPaused = "Paused"
	// ReasonArchiverNotFound: the Archiver of spec.archiverRef does not exist.
	ReasonArchiverNotFound = "ArchiverNotFound"
	// ReasonCompiling: the operator has not processed the current group yet.
	ReasonCompiling = "Compiling"
	// ReasonNoEngine: no engine can capture some of the channels.
	ReasonNoEngine = "NoEngine"
	// ReasonRollingOut: engines are applying the current settings.
	ReasonRollingOut = "RollingOut"
	// ReasonNoChannels: the group has no channel that can be captured.
	ReasonNoChannels = "NoChannels"
	// ReasonExpired: expiresAt has passed.
	ReasonExpired = "Expired"
	// ReasonNotExpired: expiresAt is in the future or not set.
	ReasonNotExpired = "NotExpired"
	// ReasonDeletingData: the group is being deleted together with its data.
	ReasonDeletingData = "DeletingData"
	// ReasonDeleting: the group is being deleted.
	ReasonDeleting = "Deleting"
	// ReasonProblems: the group or one of its sources has a problem.
	ReasonProblems = "Problems"
	// ReasonNotOwned: an ArchivePolicy forbids the group to archive some of its PVs.
	ReasonNotOwned = "NotOwned"
	// ReasonNoProblems: neither the group nor its sources have a problem.
	ReasonNoProblems = "NoProblems"
	// ReasonSharedChannels: other groups have some of the same PVs.
	ReasonSharedChannels = "SharedChannels"
	// ReasonDifferentProviders: other groups have some of the same PVs, some of them with another
	// provider.
	ReasonDifferentProviders = "DifferentProviders"
	// ReasonNoSharedChannels: no other group has the same PVs.
	ReasonNoSharedChannels = "NoSharedChannels"
	// ReasonNamesLookLikePatterns: channels of the group have names with * or ?.
	ReasonNamesLookLikePatterns = "NamesLookLikePatterns"
	// ReasonUnusedRules: rules of the group apply to no PV.
	ReasonUnusedRules = "UnusedRules"
	// ReasonApplied: engines keep data as the group's retention defines.
	ReasonApplied = "Applied"
)
