package appliance

import (
	"fmt"
	"net/http"

	"varve.dev/varve/engine/pvname"
)

// refused lists the calls of the Appliance that would change the archived PVs or the stored
// data.
var refused = []string{
	"abortArchivingPV", "addAlias", "addExternalArchiverServer", "addExternalArchiverServerArchives", "appendAndAliasPV",
	"archivePV", "changeArchivalParameters", "changeStore", "changeTypeForPV", "consolidateDataForPV", "deletePV",
	"importData", "importDataFromPlugin", "mergeInData", "modifyMetaFields", "modifyStoreURLForPV", "namedFlagsSet",
	"pauseArchivingPV", "putPVTypeInfo", "reassignAppliance", "refreshPVDataFromChannelArchivers", "removeAlias",
	"removeExternalArchiverServer", "renamePV", "reshardPV", "resetFailoverCaches", "resumeArchivingPV", "setNamedFlag",
	"skipAliasCheck",
}

// refuse refuses a call that would change something. Clients of this API send no credentials,
// and ArchiveGroups are the only configuration.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request) {
	text := "ArchiveGroups define which PVs are archived; add the PV to the manifest of an ArchiveGroup"
	if pv := r.URL.Query().Get("pv"); pv != "" {
		if s, ok, err := h.Channels.Status(r.Context(), pvname.Canonical(pv)); ok && err == nil {
			text = fmt.Sprintf("ArchiveGroup %[2]s defines how PV %[1]s is archived; edit its manifest", pv, s.Group)
		}
	}
	// The Appliance answers refusals under this key, and clients parse JSON.
	writeJSON(w, http.StatusForbidden, map[string]string{"validation": text})
}
