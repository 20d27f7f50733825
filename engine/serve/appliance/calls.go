package appliance

import (
	"slices"

	"varve.dev/varve/engine/serve/request"
)

// Paths below which the Appliance has its calls: those of its four web applications.
const (
	retrieval = "/retrieval/bpl/"
	mgmt      = "/mgmt/bpl/"
	engine    = "/engine/bpl/"
	etl       = "/etl/bpl/"
)

var prefixes = []string{retrieval, mgmt, engine, etl}

// kind says how a call is answered.
type kind string

const (
	// reads are answered.
	reads kind = "answered"
	// edits change an ArchiveGroup that accepts requests of the sender. Otherwise they are refused with 403.
	edits kind = "edited"
	// changes are refused with 403, because ArchiveGroups are the only configuration.
	changes kind = "refused"
	// unsupported are reads that have no meaning here. They give 501, and say why and what to use instead.
	unsupported kind = "unsupported"
)

// call is a call of the Appliance. Handlers are registered from the table of calls, and a test
// compares the table with docs/reference/appliance.md.
type call struct {
	path string
	kind kind
	// post is true if the call also takes names in the body of a POST.
	post bool
	// objects is true if a JSON list in the body may have objects with further parameters.
	objects bool
	// heavy calls read much, and count as a read of samples.
	heavy  bool
	known  request.Known
	answer func(h *Handler, a args) (any, error)
	why    string // of an unsupported call
}

// These are the parameters of several calls.
var (
	none     = request.Known{}
	onePV    = request.Known{Once: []string{"pv"}}
	pattern  = request.Known{Once: []string{"regex", "limit"}, Repeated: []string{"pv"}, Ignored: []string{"skipExternalServers"}}
	someNow  = request.Known{Once: []string{"regex", "limit"}, Repeated: []string{"pv"}, Ignored: []string{"reporttype"}}
	byRegex  = request.Known{Once: []string{"regex"}, Ignored: []string{"skipExternalServers"}}
	nameList = request.Known{Repeated: []string{"pv"}}
	ofOne    = request.Known{Once: []string{"appliance"}}
	byID     = request.Known{Once: []string{"id"}}
)

// calls are all calls of the Appliance.
var calls = slices.Concat(retrievalCalls, infoCalls, nameCalls, reportCalls, instanceCalls, engineCalls, etlCalls, editCalls, changeCalls(), unsupportedCalls)

var retrievalCalls = []call{
	{path: retrieval + "getVersion", kind: reads, known: none, answer: (*Handler).version},
	{path: retrieval + "getMatchingPVs", kind: reads, heavy: true, known: pattern, answer: (*Handler).matchingPVs},
	{path: retrieval + "searchForPVsRegex", kind: reads, heavy: true, known: byRegex, answer: (*Handler).searchForPVsRegex},
	{path: retrieval + "getMetadata", kind: reads, known: onePV, answer: (*Handler).metadata},
	{path: retrieval + "getPVDetails", kind: reads, known: onePV, answer: (*Handler).details},
	{path: retrieval + "areWeArchivingPV", kind: reads, known: onePV, answer: (*Handler).areWeArchivingPV},
	{path: retrieval + "filterArchivedPVs", kind: reads, post: true, heavy: true, known: nameList, answer: (*Handler).archivedPVs},
	{path: retrieval + "getApplianceMetrics", kind: reads, heavy: true, known: none, answer: (*Handler).metricsOfInstance},
	{path: retrieval + "getApplianceMetricsForAppliance", kind: reads, heavy: true, known: ofOne, answer: (*Handler).metricsDetails},
	{path: retrieval + "getInstanceMetricsForAppliance", kind: reads, heavy: true, known: ofOne, answer: (*Handler).metricsDetails},
}

// infoCalls are about one PV, or about the archive.
var infoCalls = []call{
	{path: mgmt + "getPVTypeInfo", kind: reads, known: onePV, answer: (*Handler).typeInfo},
	{path: mgmt + "getPVDetails", kind: reads, known: onePV, answer: (*Handler).details},
	{path: mgmt + "getStoresForPV", kind: reads, known: onePV, answer: (*Handler).storesForPV},
	{path: mgmt + "getApplianceInfo", kind: reads, known: byID, answer: (*Handler).applianceInfo},
	{path: mgmt + "getAppliancesInCluster", kind: reads, known: none, answer: (*Handler).appliances},
	{path: mgmt + "getVersions", kind: reads, known: byID, answer: (*Handler).versions},
	{path: mgmt + "getPolicyList", kind: reads, heavy: true, known: none, answer: (*Handler).policies},
	{path: mgmt + "getPolicyText", kind: reads, known: none, answer: (*Handler).policyText},
	{path: mgmt + "getApplianceProperties", kind: reads, known: none, answer: empty[map[string]string]},
	{path: mgmt + "getAllAliases", kind: reads, known: none, answer: (*Handler).allAliases},
	{path: mgmt + "getAllNamedFlags", kind: reads, known: none, answer: empty[map[string]bool]},
	{path: mgmt + "getNamedFlag", kind: reads, known: request.Known{Once: []string{"name"}}, answer: (*Handler).namedFlag},
	{path: mgmt + "getExternalArchiverServers", kind: reads, known: none, answer: empty[[]string]},
	{path: mgmt + "getMetaGets", kind: reads, known: none, answer: empty[[]string]},
}

// nameCalls are about lists of names.
var nameCalls = []call{
	{path: mgmt + "getAllPVs", kind: reads, post: true, heavy: true, known: pattern, answer: (*Handler).allPVs},
	{path: mgmt + "getAllExpandedPVNames", kind: reads, heavy: true, known: pattern, answer: (*Handler).expandedNames},
	{path: mgmt + "getMatchingPVsForThisAppliance", kind: reads, heavy: true, known: pattern, answer: (*Handler).allPVs},
	{path: mgmt + "getPVsForThisAppliance", kind: reads, heavy: true, known: pattern, answer: (*Handler).capturedNames},
	{path: mgmt + "getTypeInfoKeys", kind: reads, heavy: true, known: pattern, answer: (*Handler).capturedNames},
	{path: mgmt + "getPausedPVsForThisAppliance", kind: reads, heavy: true, known: pattern, answer: (*Handler).pausedNames},
	{path: mgmt + "getPVStatus", kind: reads, post: true, heavy: true, known: someNow, answer: (*Handler).pvStatus},
	{path: mgmt + "archivedPVs", kind: reads, post: true, heavy: true, known: nameList, answer: (*Handler).archivedPVs},
	{path: mgmt + "unarchivedPVs", kind: reads, post: true, heavy: true, known: nameList, answer: (*Handler).unarchivedPVs},
	{path: mgmt + "archivedPVsNotInList", kind: reads, post: true, heavy: true, known: nameList, answer: (*Handler).archivedPVsNotInList},
	{path: mgmt + "exportConfig", kind: reads, heavy: true, known: pattern, answer: (*Handler).exportConfig},
	{path: mgmt + "exportConfigForAppliance", kind: reads, heavy: true, known: pattern, answer: (*Handler).exportConfig},
}

var reportCalls = []call{
	{path: mgmt + "getNeverConnectedPVs", kind: reads, heavy: true, known: pattern, answer: (*Handler).neverConnected},
	{path: mgmt + "getNeverConnectedPVsForThisAppliance", kind: reads, heavy: true, known: pattern, answer: (*Handler).neverConnected},
	{path: mgmt + "getCurrentlyDisconnectedPVs", kind: reads, heavy: true, known: pattern, answer: (*Handler).disconnected},
	{path: mgmt + "getEventRateReport", kind: reads, heavy: true, known: pattern, answer: eventRates.answer},
	{path: mgmt + "getStorageRateReport", kind: reads, heavy: true, known: pattern, answer: storageRates.answer},
	{path: mgmt + "getRecentlyAddedPVs", kind: reads, heavy: true, known: pattern, answer: (*Handler).recentlyAdded},
	{path: mgmt + "getRecentlyAddedPVsForThisInstance", kind: reads, heavy: true, known: pattern, answer: (*Handler).recentlyAdded},
	{path: mgmt + "getRecentlyModifiedPVs", kind: reads, heavy: true, known: pattern, answer: (*Handler).recentlyModified},
	{path: mgmt + "getRecentlyModifiedPVsForThisInstance", kind: reads, heavy: true, known: pattern, answer: (*Handler).recentlyModified},
	{path: mgmt + "getLostConnectionsReport", kind: reads, heavy: true, known: pattern, answer: lostConnections.answer},
	{path: mgmt + "getSilentPVsReport", kind: reads, heavy: true, known: pattern, answer: silent.answer},
	{path: mgmt + "getPVsByDroppedEventsTimestamp", kind: reads, heavy: true, known: pattern, answer: droppedByTime.answer},
	{path: mgmt + "getPVsByDroppedEventsBuffer", kind: reads, heavy: true, known: pattern, answer: droppedByBuffer.answer},
	{path: mgmt + "getPVsByDroppedEventsTypeChange", kind: reads, heavy: true, known: pattern, answer: droppedByType.answer},
	{path: mgmt + "getSlowChangingPVsWithDroppedEvents", kind: reads, heavy: true, known: pattern, answer: slowChanging.answer},
	{path: mgmt + "getPausedPVsReport", kind: reads, heavy: true, known: pattern, answer: paused.answer},
	{path: mgmt + "getArchivedWaveforms", kind: reads, heavy: true, known: pattern, answer: waveforms.answer},
	{path: mgmt + "getTimeSpanReport", kind: reads, heavy: true, known: pattern, answer: (*Handler).timeSpans},
	{path: mgmt + "getCreationReportForAppliance", kind: reads, heavy: true, known: pattern, answer: (*Handler).creations},
}

// instanceCalls are about the whole archive, which is the only appliance.
var instanceCalls = []call{
	{path: mgmt + "getApplianceMetrics", kind: reads, heavy: true, known: none, answer: (*Handler).metricsOfAll},
	{path: mgmt + "getInstanceMetrics", kind: reads, heavy: true, known: none, answer: (*Handler).metricsOfAll},
	{path: mgmt + "getStorageMetrics", kind: reads, heavy: true, known: none, answer: (*Handler).metricsOfAll},
	{path: mgmt + "getApplianceMetricsForAppliance", kind: reads, heavy: true, known: ofOne, answer: (*Handler).metricsDetails},
	{path: mgmt + "getInstanceMetricsForAppliance", kind: reads, heavy: true, known: ofOne, answer: (*Handler).metricsDetails},
	{path: mgmt + "getStorageMetricsForAppliance", kind: reads, heavy: true, known: ofOne, answer: (*Handler).metricsDetails},
	{path: mgmt + "getAggregatedApplianceInfo", kind: reads, heavy: true, known: none, answer: (*Handler).aggregated},
}

// engineCalls and etlCalls are those that the parts of an Appliance send each other. Scripts use some of them.
var engineCalls = []call{
	{path: engine + "getVersion", kind: reads, known: none, answer: (*Handler).version},
	{path: engine + "getMetadata", kind: reads, known: onePV, answer: (*Handler).metadata},
	{path: engine + "getPVDetails", kind: reads, known: onePV, answer: (*Handler).details},
	{path: engine + "listAllChannels", kind: reads, heavy: true, known: pattern, answer: (*Handler).capturedNames},
	{path: engine + "getMetaGetsForThisAppliance", kind: reads, known: none, answer: empty[[]string]},
	{path: engine + "getConnectedPVCountForAppliance", kind: reads, heavy: true, known: none, answer: (*Handler).connectedCount},
	{path: engine + "getApplianceMetrics", kind: reads, heavy: true, known: none, answer: (*Handler).metricsOfInstance},
	{path: engine + "getApplianceMetricsForAppliance", kind: reads, heavy: true, known: ofOne, answer: (*Handler).metricsDetails},
	{path: engine + "getInstanceMetricsForAppliance", kind: reads, heavy: true, known: ofOne, answer: (*Handler).metricsDetails},
	{path: engine + "getCurrentlyDisconnectedPVsForThisAppliance", kind: reads, heavy: true, known: pattern, answer: (*Handler).disconnected},
	{path: engine + "getEventRateReport", kind: reads, heavy: true, known: pattern, answer: eventRates.answer},
	{path: engine + "getStorageRateReport", kind: reads, heavy: true, known: pattern, answer: storageRates.answer},
	{path: engine + "getLostConnectionsReport", kind: reads, heavy: true, known: pattern, answer: lostConnections.answer},
	{path: engine + "getSilentPVsReport", kind: reads, heavy: true, known: pattern, answer: silent.answer},
	{path: engine + "getPVsByDroppedEventsTimestamp", kind: reads, heavy: true, known: pattern, answer: droppedByTime.answer},
	{path: engine + "getPVsByDroppedEventsBuffer", kind: reads, heavy: true, known: pattern, answer: droppedByBuffer.answer},
	{path: engine + "getPVsByDroppedEventsTypeChange", kind: reads, heavy: true, known: pattern, answer: droppedByType.answer},
	{path: engine + "getSlowChangingPVsWithDroppedEvents", kind: reads, heavy: true, known: pattern, answer: slowChanging.answer},
	{path: engine + "getArchivedWaveforms", kind: reads, heavy: true, known: pattern, answer: waveforms.answer},
}

var etlCalls = []call{
	{path: etl + "getVersion", kind: reads, known: none, answer: (*Handler).version},
	{path: etl + "getPVDetails", kind: reads, known: onePV, answer: (*Handler).details},
	{path: etl + "getLastKnownEvent", kind: reads, heavy: true, known: onePV, answer: (*Handler).lastKnownEvent},
	{path: etl + "getApplianceMetrics", kind: reads, heavy: true, known: none, answer: (*Handler).metricsOfInstance},
	{path: etl + "getApplianceMetricsForAppliance", kind: reads, heavy: true, known: ofOne, answer: (*Handler).metricsDetails},
	{path: etl + "getInstanceMetricsForAppliance", kind: reads, heavy: true, known: ofOne, answer: (*Handler).metricsDetails},
	{path: etl + "getStorageMetricsForAppliance", kind: reads, heavy: true, known: ofOne, answer: (*Handler).metricsDetails},
}
