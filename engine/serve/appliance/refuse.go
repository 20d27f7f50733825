package appliance

import (
	"fmt"
	"net/http"

	"varve.dev/varve/engine/pvname"
)

// changes are the calls of the Appliance that would change what is archived, or
// what is stored.
var changes = []string{
	"abortArchivingPV", "addAlias", "addExternalArchiverServer", "addExternalArchiverServerArchives", "appendAndAliasPV",
	"archivePV", "changeArchivalParameters", "changeStore", "changeTypeForPV", "consolidateDataForPV", "deletePV",
	"importData", "importDataFromPlugin", "mergeInData", "modifyMetaFields", "modifyStoreURLForPV", "namedFlagsSet",
	"pauseArchivingPV", "putPVTypeInfo", "reassignAppliance", "refreshPVDataFromChannelArchivers", "removeAlias",
	"removeExternalArchiverServer", "renamePV", "reshardPV", "resetFailoverCaches", "resumeArchivingPV", "setNamedFlag",
	"skipAliasCheck",
}

// refuse answers a call that would change something: clients send no credentials,
// and the manifests of ArchiveGroups are all the configuration there is.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request) {
	text := "PVs are archived as ArchiveGroups say; add the PV to the manifest of one"
	if pv := r.URL.Query().Get("pv"); pv != "" {
		if s, ok, err := h.Channels.Status(r.Context(), pvname.Canonical(pv)); ok && err == nil {
			text = fmt.Sprintf("PV %s is archived as ArchiveGroup %s says; edit its manifest", pv, s.Group)
		}
	}
	// The Appliance puts what it refuses under this key, and clients parse JSON.
	writeJSON(w, http.StatusForbidden, map[string]string{"validation": text})
}
