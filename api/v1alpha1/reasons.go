package v1alpha1

// ConditionRetentionApplied of an ArchiveGroup: data is kept for as long as its
// retention says. Only groups with a retention have it.
const ConditionRetentionApplied = "RetentionApplied"

// Reasons of conditions of an ArchiveGroup, for programs.
const (
	// ReasonCaptured: engines capture all channels (Ready), as the group says
	// now (Progressing).
	ReasonCaptured = "Captured"
	// ReasonPaused: all channels are paused.
	ReasonPaused = "Paused"
	// ReasonArchiverNotFound: spec.archiverRef names no Archiver.
	ReasonArchiverNotFound = "ArchiverNotFound"
	// ReasonCompiling: the operator has not come to the group as it is now.
	ReasonCompiling = "Compiling"
	// ReasonNoEngine: there is no engine to take some of the channels.
	ReasonNoEngine = "NoEngine"
	// ReasonRollingOut: engines are about to take up the group as it is now.
	ReasonRollingOut = "RollingOut"
	// ReasonNoChannels: there is no channel that could be captured.
	ReasonNoChannels = "NoChannels"
	// ReasonExpired: expiresAt has passed.
	ReasonExpired = "Expired"
	// ReasonNotExpired: expiresAt is to come, or there is none.
	ReasonNotExpired = "NotExpired"
	// ReasonDeletingData: the group is being deleted together with its data.
	ReasonDeletingData = "DeletingData"
	// ReasonDeleting: the group is being deleted.
	ReasonDeleting = "Deleting"
	// ReasonProblems: something in the group or in its sources is wrong.
	ReasonProblems = "Problems"
	// ReasonNoProblems: nothing is.
	ReasonNoProblems = "NoProblems"
	// ReasonSharedChannels: other groups name the same PVs.
	ReasonSharedChannels = "SharedChannels"
	// ReasonDifferentProviders: other groups name the same PVs, and some of them
	// with another provider.
	ReasonDifferentProviders = "DifferentProviders"
	// ReasonNoSharedChannels: none does.
	ReasonNoSharedChannels = "NoSharedChannels"
	// ReasonApplied: engines keep data as the group's retention says.
	ReasonApplied = "Applied"
)
