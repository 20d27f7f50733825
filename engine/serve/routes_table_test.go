package serve

// route is what a test asks a route of the server. %s stands for the name of a PV.
type route struct {
	pattern string
	ask     []string // URLs; for a POST with a space and the body
}

// openRoutes answer everybody.
var openRoutes = []route{
	{"GET /{$}", []string{"/"}},
	{"GET /pvs", []string{"/pvs"}},
	{"GET /pv", []string{"/pv?pv=%s"}},
	{"GET /archive", []string{"/archive"}},
	{"GET /groups", []string{"/groups"}},
	{"GET /login", []string{"/login?code=a&state=%s"}},
	{"GET /api/v1/login", []string{"/api/v1/login"}},
	{"GET /assets/{name}", []string{"/assets/none.js"}},
	{"GET /healthz", []string{"/healthz"}},
	{"GET /readyz", []string{"/readyz"}},
	{"GET /api/{$}", []string{"/api/"}},
	{"GET /api/v1/openapi.json", []string{"/api/v1/openapi.json"}},
}

const newYearsEve = "&from=2025-12-31T00:00:00Z&to=2026-01-01T01:00:00Z"

// nativeRoutes are those of /api/v1.
var nativeRoutes = []route{
	{"GET /metrics", []string{"/metrics"}},
	{"GET /api/v1/samples", []string{
		"/api/v1/samples?pv=%s" + newYearsEve, "/api/v1/samples?pv=%s&format=csv" + newYearsEve, "/api/v1/samples?pv=PUBLIC:X&pv=%s&align=1m" + newYearsEve,
		"/api/v1/samples?pv=%s&points=10" + newYearsEve, "/api/v1/samples?pv=PUBLIC:X&where=%s%%3E1" + newYearsEve, "/api/v1/samples?group=ns/secret" + newYearsEve,
		"/api/v1/samples?pv=%s.VAL" + newYearsEve, "/api/v1/samples?pv=ca://%s" + newYearsEve, "/api/v1/samples?pv=ca://ca://%s" + newYearsEve, "/api/v1/samples?pv=ca://%%20%s" + newYearsEve, "/api/v1/samples?pv=%s.DESC" + newYearsEve,
	}},
	{"GET /api/v1/intervals", []string{"/api/v1/intervals?where=%s%%3E1" + newYearsEve}},
	{"GET /api/v1/snapshot", []string{"/api/v1/snapshot?pv=%s", "/api/v1/snapshot?pv=%s&at=2026-01-01T00:00:05Z", "/api/v1/snapshot?group=ns/secret"}},
	{"GET /api/v1/marks", []string{"/api/v1/marks?pv=%s" + newYearsEve}},
	{"GET /api/v1/metadata", []string{"/api/v1/metadata?pv=%s", "/api/v1/metadata?pv=%s" + newYearsEve}},
	{"GET /api/v1/storage", []string{"/api/v1/storage?pv=%s", "/api/v1/storage?pv=%s.VAL"}},
	{"GET /api/v1/names", []string{
		"/api/v1/names", "/api/v1/names?pv=*", "/api/v1/names?pv=%s", "/api/v1/names?pv=%s&ignoreCase=true", "/api/v1/names?near=%s", "/api/v1/names?near=%sB", "/api/v1/names?limit=1", "/api/v1/names?description=secret", "/api/v1/names?description=secret&pv=%s",
	}},
	{"GET /api/v1/channels", []string{"/api/v1/channels", "/api/v1/channels?pv=%s", "/api/v1/channels?group=ns/secret", "/api/v1/channels?sort=-rate"}},
	{"GET /api/v1/channels/{pv...}", []string{"/api/v1/channels/%s"}},
	{"GET /api/v1/why/{pv...}", []string{"/api/v1/why/%s", "/api/v1/why/%s?at=2025-12-31T23:59:58Z", "/api/v1/why/%s.VAL", "/api/v1/why/%s.DESC"}},
	{"GET /api/v1/status", []string{"/api/v1/status"}},
	{"GET /api/v1/bins", []string{"/api/v1/bins?pv=%s" + newYearsEve, "/api/v1/bins?pv=%s&samples=2&points=3" + newYearsEve}},
	{"GET /api/v1/arrays", []string{"/api/v1/arrays?pv=%s" + newYearsEve}},
	{"GET /api/v1/gaps", []string{"/api/v1/gaps?pv=%s" + newYearsEve}},
	{"GET /api/v1/statistics", []string{"/api/v1/statistics?pv=%s" + newYearsEve}},
	{"GET /api/v1/live", []string{"/api/v1/live?pv=%s"}},
	{"GET /api/v1/pvs", []string{"/api/v1/pvs", "/api/v1/pvs?pv=%s", "/api/v1/pvs?pv=%s&ignoreCase=true", "/api/v1/pvs?group=ns/secret", "/api/v1/pvs?sort=rate", "/api/v1/pvs?limit=1"}},
	{"GET /api/v1/changes", []string{"/api/v1/changes?pv=%s" + newYearsEve, "/api/v1/changes?pv=*" + newYearsEve, "/api/v1/changes?group=ns/secret" + newYearsEve}},
	{"GET /api/v1/archive", []string{"/api/v1/archive"}},
	{"GET /api/v1/losses", []string{"/api/v1/losses", "/api/v1/losses?group=ns/secret"}},
	{"GET /api/v1/forecast", []string{"/api/v1/forecast", "/api/v1/forecast?days=730"}},
	{"GET /api/v1/groups", []string{"/api/v1/groups"}},
	{"GET /api/v1/groups/{group...}", []string{"/api/v1/groups/ns/secret"}},
	{"POST /api/v1/groups/check", []string{"/api/v1/groups/check kind: ArchiveGroup"}},
	{"GET /api/v1/files", []string{"/api/v1/files?pv=%s" + newYearsEve}},
	{"GET /api/v1/files/{name...}", []string{"/api/v1/files/%s/2026-01-01.parquet"}},
}

// archiveAccessRoutes are those of the JSON archive access, and prometheusRoutes those of Prometheus.
var archiveAccessRoutes = []route{
	{"GET /archive-access/api/1.0/archive", []string{"/archive-access/api/1.0/archive"}},
	{"GET /archive-access/api/1.0/archive/{$}", []string{"/archive-access/api/1.0/archive/"}},
	{"GET /archive-access/api/1.0/archive/{key}/channels-by-pattern/{pattern...}", []string{
		"/archive-access/api/1.0/archive/1/channels-by-pattern/*", "/archive-access/api/1.0/archive/1/channels-by-pattern/%s",
	}},
	{"GET /archive-access/api/1.0/archive/{key}/channels-by-regexp/{pattern...}", []string{"/archive-access/api/1.0/archive/1/channels-by-regexp/.*"}},
	{"GET /archive-access/api/1.0/archive/{key}/samples/{pv...}", []string{
		"/archive-access/api/1.0/archive/1/samples/%s?start=1767225600000000000&end=1767225700000000000",
		"/archive-access/api/1.0/archive/1/samples/%s?start=1767225600000000000&end=1767225700000000000&count=3",
	}},
}

const promRange = "&start=1767225600&end=1767225630&step=5"

var prometheusRoutes = []route{
	{"/prometheus/", []string{"/prometheus/api/v1/rules"}},
	{"GET /prometheus/api/v1/query", []string{"/prometheus/api/v1/query?query=%s&time=1767225605"}},
	{"POST /prometheus/api/v1/query", []string{"/prometheus/api/v1/query query=%s&time=1767225605"}},
	{"GET /prometheus/api/v1/query_range", []string{
		"/prometheus/api/v1/query_range?query=%s" + promRange, "/prometheus/api/v1/query_range?query=avg_over_time(%s[5s])" + promRange,
		"/prometheus/api/v1/query_range?query=%%7B__name__=~%%22.*%%22%%7D" + promRange,
	}},
	{"POST /prometheus/api/v1/query_range", []string{"/prometheus/api/v1/query_range query=%s" + promRange}},
	{"GET /prometheus/api/v1/labels", []string{"/prometheus/api/v1/labels", "/prometheus/api/v1/labels?match[]=%s"}},
	{"POST /prometheus/api/v1/labels", []string{"/prometheus/api/v1/labels match[]=%s"}},
	{"GET /prometheus/api/v1/series", []string{"/prometheus/api/v1/series?match[]=%s", "/prometheus/api/v1/series?match[]=%%7B__name__=~%%22.*%%22%%7D"}},
	{"POST /prometheus/api/v1/series", []string{"/prometheus/api/v1/series match[]=%s"}},
	{"GET /prometheus/api/v1/label/{label}/values", []string{"/prometheus/api/v1/label/__name__/values"}},
	{"GET /prometheus/api/v1/metadata", []string{"/prometheus/api/v1/metadata", "/prometheus/api/v1/metadata?metric=%s"}},
	{"GET /prometheus/api/v1/status/buildinfo", []string{"/prometheus/api/v1/status/buildinfo"}},
}

// applianceRoutes are those of the Archiver Appliance that need more than the parameter pv.
var applianceRoutes = []route{
	{"GET /retrieval/data/{file}", []string{
		"/retrieval/data/getData.json?pv=%s" + newYearsEve, "/retrieval/data/getData.raw?pv=%s" + newYearsEve, "/retrieval/data/getData.csv?pv=mean_60(%s)" + newYearsEve,
		"/retrieval/data/getData.json?pv=PUBLIC:X&pv=%s" + newYearsEve, "/retrieval/data/getData.json?pv=optimized_10(%s)" + newYearsEve,
		"/retrieval/data/getData.json?pv=%s&fetchLatestMetadata=true" + newYearsEve,
	}},
	{"POST /retrieval/data/{file}", []string{"/retrieval/data/getData.json?a=1" + newYearsEve + " pv=%s"}},
	{"GET /retrieval/data/getDataAtTime", []string{"/retrieval/data/getDataAtTime?pv=%s&at=2026-01-01T00:00:05Z"}},
	{"POST /retrieval/data/getDataAtTime", []string{"/retrieval/data/getDataAtTime?at=2026-01-01T00:00:05Z pv=%s"}},
	{"GET /retrieval/data/getDataAtTimeForAppliance", []string{"/retrieval/data/getDataAtTimeForAppliance?pv=%s&at=2026-01-01T00:00:05Z"}},
	{"POST /retrieval/data/getDataAtTimeForAppliance", []string{"/retrieval/data/getDataAtTimeForAppliance?at=2026-01-01T00:00:05Z pv=%s"}},
	{"GET /retrieval/ping", []string{"/retrieval/ping"}},
	{"/retrieval/bpl/", []string{"/retrieval/bpl/none?pv=%s"}},
	{"/mgmt/bpl/", []string{"/mgmt/bpl/none?pv=%s"}},
	{"/engine/bpl/", []string{"/engine/bpl/none?pv=%s"}},
	{"/etl/bpl/", []string{"/etl/bpl/none?pv=%s"}},
}

// appliancePaths are calls that are asked for a PV, for all of them, and without parameters.
var appliancePaths = map[string][]string{
	"/retrieval/bpl/": {
		"getVersion", "getMatchingPVs", "searchForPVsRegex", "getMetadata", "getPVDetails", "areWeArchivingPV", "filterArchivedPVs",
		"getClientConfig", "getApplianceMetrics", "getApplianceMetricsForAppliance", "getInstanceMetricsForAppliance",
		"putClientConfig", "resetFailoverCachesForThisAppliance", "getProcessMetrics",
	},
	"/mgmt/bpl/": {
		"getPVTypeInfo", "getPVDetails", "getStoresForPV", "getApplianceInfo", "getAppliancesInCluster", "getVersions", "getPolicyList",
		"getPolicyText", "getApplianceProperties", "getAllAliases", "getAllNamedFlags", "getNamedFlag", "getExternalArchiverServers",
		"getMetaGets", "getAllPVs", "getAllExpandedPVNames", "getMatchingPVsForThisAppliance", "getPVsForThisAppliance", "getTypeInfoKeys",
		"getPausedPVsForThisAppliance", "getPVStatus", "archivedPVs", "unarchivedPVs", "archivedPVsNotInList", "exportConfig",
		"exportConfigForAppliance", "getNeverConnectedPVs", "getNeverConnectedPVsForThisAppliance", "getCurrentlyDisconnectedPVs",
		"getEventRateReport", "getStorageRateReport", "getRecentlyAddedPVs", "getRecentlyAddedPVsForThisInstance",
		"getRecentlyModifiedPVs", "getRecentlyModifiedPVsForThisInstance", "getLostConnectionsReport", "getSilentPVsReport",
		"getPVsByDroppedEventsTimestamp", "getPVsByDroppedEventsBuffer", "getPVsByDroppedEventsTypeChange",
		"getSlowChangingPVsWithDroppedEvents", "getPausedPVsReport", "getArchivedWaveforms", "getTimeSpanReport",
		"getCreationReportForAppliance", "getApplianceMetrics", "getInstanceMetrics", "getStorageMetrics",
		"getApplianceMetricsForAppliance", "getInstanceMetricsForAppliance", "getStorageMetricsForAppliance", "getAggregatedApplianceInfo",
		"abortArchivingPV", "abortArchivingPVForThisAppliance", "addAlias", "addExternalArchiverServer", "addExternalArchiverServerArchives",
		"appendAndAliasPV", "archivePV", "changeArchivalParameters", "changeStore", "changeTypeForPV", "consolidateDataForPV", "deletePV",
		"importChannelArchiverConfiguration", "importConfig", "importConfigForAppliance", "importData", "importDataFromPlugin",
		"mergeInData", "modifyMetaFields", "modifyStoreURLForPV", "namedFlagsSet", "pauseArchivingPV", "putPVTypeInfo", "reassignAppliance",
		"refreshPVDataFromChannelArchivers", "removeAlias", "removeExternalArchiverServer", "renamePV", "resetFailoverCaches", "reshardPV",
		"restartArchivePVWorkflowThreadForThisAppliance", "resumeArchivingPV", "setNamedFlag", "skipAliasCheck",
		"uploadChannelArchiverConfiguration", "webAppReady", "getProcessMetrics", "getProcessMetricsDataForAppliance",
		"getMgmtMetricsForAppliance", "getPVsByStorageConsumed", "getPVsByScanCopyTime", "getPVsByMaxTimeBetweenScans",
		"test/compareWithChannelArchiver",
	},
	"/engine/bpl/": {
		"getVersion", "getMetadata", "getPVDetails", "listAllChannels", "getMetaGetsForThisAppliance", "getConnectedPVCountForAppliance",
		"getApplianceMetrics", "getApplianceMetricsForAppliance", "getInstanceMetricsForAppliance",
		"getCurrentlyDisconnectedPVsForThisAppliance", "getEventRateReport", "getStorageRateReport", "getLostConnectionsReport",
		"getSilentPVsReport", "getPVsByDroppedEventsTimestamp", "getPVsByDroppedEventsBuffer", "getPVsByDroppedEventsTypeChange",
		"getSlowChangingPVsWithDroppedEvents", "getArchivedWaveforms", "changeArchivalParameters", "cleanUpAnyImmortalChannels", "deletePV",
		"pausePVsonShutdown", "getArchiveChannelObjectDetails", "getCommandThreadDetails", "getData.raw", "getDataAtTime",
		"getLastKnownTimeStampReport", "getProcessMetrics", "status",
	},
	"/etl/bpl/": {
		"getVersion", "getPVDetails", "getLastKnownEvent", "getApplianceMetrics", "getApplianceMetricsForAppliance",
		"getInstanceMetricsForAppliance", "getStorageMetricsForAppliance", "changeStore", "consolidateDataForPV", "deletePV",
		"getProcessMetrics", "getPVsByStorageConsumed", "getStorageDetailsForAppliance",
	},
}

// guardedRoutes are all routes that need an identity.
func guardedRoutes() (all []route) {
	for _, list := range [][]route{nativeRoutes, archiveAccessRoutes, prometheusRoutes, applianceRoutes} {
		all = append(all, list...)
	}
	for prefix, paths := range appliancePaths {
		for _, path := range paths {
			path = prefix + path
			all = append(all, route{path, []string{path, path + "?pv=%s", path + "?pv=*", path + "?regex=.*", path + "?limit=10", path + " pv=%s"}})
		}
	}
	return all
}
