package appliance

import (
	"slices"
	"strings"
	"testing"
)

// theirCalls are the calls of the Archiver Appliance of 21 August 2026, by web application: the paths that its
// servlets register.
var theirCalls = map[string]string{
	retrieval: `
		areWeArchivingPV filterArchivedPVs getApplianceMetrics getApplianceMetricsForAppliance getClientConfig
		getInstanceMetricsForAppliance getMatchingPVs getMetadata getPVDetails getProcessMetrics getVersion
		resetFailoverCachesForThisAppliance searchForPVsRegex
	`,
	mgmt: `
		abortArchivingPV abortArchivingPVForThisAppliance addAlias addExternalArchiverServer
		addExternalArchiverServerArchives appendAndAliasPV archivePV archivedPVs archivedPVsNotInList
		changeArchivalParameters changeStore changeTypeForPV consolidateDataForPV deletePV exportConfig
		exportConfigForAppliance getAggregatedApplianceInfo getAllAliases getAllExpandedPVNames getAllNamedFlags getAllPVs
		getApplianceInfo getApplianceMetrics getApplianceMetricsForAppliance getApplianceProperties getAppliancesInCluster
		getArchivedWaveforms getCreationReportForAppliance getCurrentlyDisconnectedPVs getEventRateReport
		getExternalArchiverServers getInstanceMetrics getInstanceMetricsForAppliance getLostConnectionsReport
		getMatchingPVsForThisAppliance getMetaGets getMgmtMetricsForAppliance getNamedFlag getNeverConnectedPVs
		getNeverConnectedPVsForThisAppliance getPVDetails getPVStatus getPVTypeInfo getPVsByDroppedEventsBuffer
		getPVsByDroppedEventsTimestamp getPVsByDroppedEventsTypeChange getPVsByStorageConsumed getPVsForThisAppliance
		getPausedPVsForThisAppliance getPausedPVsReport getPolicyList getPolicyText getProcessMetrics
		getProcessMetricsDataForAppliance getRecentlyAddedPVs getRecentlyAddedPVsForThisInstance getRecentlyModifiedPVs
		getRecentlyModifiedPVsForThisInstance getSilentPVsReport getSlowChangingPVsWithDroppedEvents getStorageMetrics
		getStorageMetricsForAppliance getStorageRateReport getStoresForPV getTimeSpanReport getTypeInfoKeys getVersions
		importChannelArchiverConfiguration importConfig importConfigForAppliance importDataFromPlugin mergeInData
		modifyMetaFields modifyStoreURLForPV pauseArchivingPV putPVTypeInfo reassignAppliance
		refreshPVDataFromChannelArchivers removeAlias removeExternalArchiverServer renamePV resetFailoverCaches reshardPV
		restartArchivePVWorkflowThreadForThisAppliance resumeArchivingPV setNamedFlag skipAliasCheck
		test/compareWithChannelArchiver unarchivedPVs uploadChannelArchiverConfiguration webAppReady
	`,
	engine: `
		changeArchivalParameters cleanUpAnyImmortalChannels deletePV getApplianceMetrics getApplianceMetricsForAppliance
		getArchiveChannelObjectDetails getArchivedWaveforms getCommandThreadDetails getConnectedPVCountForAppliance
		getCurrentlyDisconnectedPVsForThisAppliance getData.raw getDataAtTime getEventRateReport
		getInstanceMetricsForAppliance getLastKnownTimeStampReport getLostConnectionsReport getMetaGetsForThisAppliance
		getMetadata getPVDetails getPVsByDroppedEventsBuffer getPVsByDroppedEventsTimestamp getPVsByDroppedEventsTypeChange
		getProcessMetrics getSilentPVsReport getSlowChangingPVsWithDroppedEvents getStorageRateReport getVersion
		listAllChannels pausePVsonShutdown status
	`,
	etl: `
		changeStore consolidateDataForPV deletePV getApplianceMetrics getApplianceMetricsForAppliance
		getInstanceMetricsForAppliance getLastKnownEvent getPVDetails getPVsByStorageConsumed getProcessMetrics
		getStorageDetailsForAppliance getStorageMetricsForAppliance getVersion
	`,
}

// TestNoCallOfTheApplianceIsMissing checks that the table has each call of the Appliance, and that each read
// that is not answered says what to use instead.
func TestNoCallOfTheApplianceIsMissing(t *testing.T) {
	n := 0
	for prefix, names := range theirCalls {
		for _, name := range strings.Fields(names) {
			n++
			i := slices.IndexFunc(calls, func(c call) bool { return c.path == prefix+name })
			if i < 0 {
				t.Errorf("%s%s is missing", prefix, name)
				continue
			}
			if c := &calls[i]; c.kind == unsupported && !strings.ContainsAny(c.why, "/;") {
				t.Errorf("%s says %q, which names no replacement", c.path, c.why)
			}
		}
	}
	if n != 147 {
		t.Errorf("the list of the Appliance has %d calls", n)
	}
}
