package appliance

// changeCalls are the calls that would change the archived PVs, the stored data or the appliance.
func changeCalls() (all []call) {
	for _, path := range []string{
		mgmt + "abortArchivingPVForThisAppliance", mgmt + "addExternalArchiverServer", mgmt + "addExternalArchiverServerArchives",
		mgmt + "appendAndAliasPV", mgmt + "changeStore", mgmt + "changeTypeForPV", mgmt + "consolidateDataForPV",
		mgmt + "importChannelArchiverConfiguration", mgmt + "importConfig", mgmt + "importConfigForAppliance", mgmt + "importData",
		mgmt + "importDataFromPlugin", mgmt + "mergeInData", mgmt + "modifyMetaFields", mgmt + "modifyStoreURLForPV",
		mgmt + "namedFlagsSet", mgmt + "putPVTypeInfo", mgmt + "reassignAppliance",
		mgmt + "refreshPVDataFromChannelArchivers", mgmt + "removeExternalArchiverServer", mgmt + "renamePV",
		mgmt + "resetFailoverCaches", mgmt + "reshardPV", mgmt + "restartArchivePVWorkflowThreadForThisAppliance",
		mgmt + "setNamedFlag", mgmt + "skipAliasCheck", mgmt + "uploadChannelArchiverConfiguration",
		mgmt + "webAppReady", retrieval + "putClientConfig", retrieval + "resetFailoverCachesForThisAppliance",
		engine + "changeArchivalParameters", engine + "cleanUpAnyImmortalChannels", engine + "deletePV", engine + "pausePVsonShutdown",
		etl + "changeStore", etl + "consolidateDataForPV", etl + "deletePV",
	} {
		all = append(all, call{path: path, kind: changes})
	}
	return all
}

// These are reasons of several unsupported calls.
const (
	noProcesses   = "/metrics has the metrics of each process"
	noScanTimes   = "the archive does not measure how long scans take; /api/v1/channels has the state of each channel"
	noBytes       = "the store does not count the bytes of all PVs; /api/v1/storage measures those of one PV, and getStorageRateReport estimates rates"
	noConfigs     = "the archive stores no configurations of clients; keep them in files, or with the client"
	noChannelPool = "it is about objects of the Appliance's engine; /mgmt/bpl/getPVDetails and /api/v1/channels have the state of each channel"
)

var unsupportedCalls = []call{
	{path: retrieval + "getClientConfig", kind: unsupported, why: noConfigs},
	{path: retrieval + "getProcessMetrics", kind: unsupported, why: noProcesses},
	{path: mgmt + "getProcessMetrics", kind: unsupported, why: noProcesses},
	{path: mgmt + "getProcessMetricsDataForAppliance", kind: unsupported, why: noProcesses},
	{path: mgmt + "getMgmtMetricsForAppliance", kind: unsupported, why: noProcesses},
	{path: mgmt + "getPVsByStorageConsumed", kind: unsupported, why: noBytes},
	{path: mgmt + "getPVsByScanCopyTime", kind: unsupported, why: noScanTimes},
	{path: mgmt + "getPVsByMaxTimeBetweenScans", kind: unsupported, why: noScanTimes},
	{path: mgmt + "test/compareWithChannelArchiver", kind: unsupported, why: "the archive reads no Channel Archiver; the command varve compare compares the samples of two archives"},
	{path: engine + "getArchiveChannelObjectDetails", kind: unsupported, why: noChannelPool},
	{path: engine + "getCommandThreadDetails", kind: unsupported, why: noProcesses},
	{path: engine + "getData.raw", kind: unsupported, why: "/retrieval/data/getData.raw has the newest samples, too"},
	{path: engine + "getDataAtTime", kind: unsupported, why: "/retrieval/data/getDataAtTime has the newest samples, too"},
	{path: engine + "getLastKnownTimeStampReport", kind: unsupported, why: "/mgmt/bpl/getSilentPVsReport has the time of the last sample of each PV"},
	{path: engine + "getProcessMetrics", kind: unsupported, why: noProcesses},
	{path: engine + "status", kind: unsupported, why: "/mgmt/bpl/getPVStatus has the state of each PV"},
	{path: etl + "getProcessMetrics", kind: unsupported, why: noProcesses},
	{path: etl + "getPVsByStorageConsumed", kind: unsupported, why: noBytes},
	{path: etl + "getStorageDetailsForAppliance", kind: unsupported, why: "/api/v1/archive has the storage of each retention tier"},
}
