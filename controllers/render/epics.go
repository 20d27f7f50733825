package render

import (
	"strconv"
	"strings"

	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// epics returns the environment variables of EPICS clients. It sets every variable that the spec
// covers, so that the image cannot change any of them.
func epics(a *v1alpha1.Archiver) []*core.EnvVarApplyConfiguration {
	e := &a.Spec.EPICS
	yesNo := "NO"
	if broadcastsSearches(a) {
		yesNo = "YES"
	}
	vars := []*core.EnvVarApplyConfiguration{
		env("EPICS_CA_ADDR_LIST", strings.Join(e.CAAddrList, " ")),
		env("EPICS_CA_AUTO_ADDR_LIST", yesNo),
		env("EPICS_CA_NAME_SERVERS", strings.Join(e.CANameServers, " ")),
		env("EPICS_PVA_ADDR_LIST", strings.Join(e.PVAAddrList, " ")),
		env("EPICS_PVA_AUTO_ADDR_LIST", yesNo),
		env("EPICS_PVA_NAME_SERVERS", strings.Join(e.PVANameServers, " ")),
	}
	if e.MaxArrayBytes != nil {
		vars = append(vars, env("EPICS_CA_MAX_ARRAY_BYTES", strconv.FormatInt(e.MaxArrayBytes.Value(), 10)))
	}
	return vars
}

// broadcastsSearches reports whether engines broadcast searches. Broadcasts in a pod network do
// not reach IOCs.
func broadcastsSearches(a *v1alpha1.Archiver) bool {
	if auto := a.Spec.EPICS.AutoAddrList; auto != nil {
		return *auto
	}
	return a.Spec.Engines.HostNetwork
}

// searchesByUDP reports whether engines send searches by UDP.
func searchesByUDP(a *v1alpha1.Archiver) bool {
	return broadcastsSearches(a) || len(a.Spec.EPICS.CAAddrList) > 0 || len(a.Spec.EPICS.PVAAddrList) > 0
}

func env(name, value string) *core.EnvVarApplyConfiguration {
	return core.EnvVar().WithName(name).WithValue(value)
}

// podEnv returns the environment variables with the name, namespace and UID of a pod.
func podEnv() []*core.EnvVarApplyConfiguration {
	field := func(name, path string) *core.EnvVarApplyConfiguration {
		return core.EnvVar().WithName(name).WithValueFrom(
			core.EnvVarSource().WithFieldRef(core.ObjectFieldSelector().WithFieldPath(path)))
	}
	return []*core.EnvVarApplyConfiguration{
		field("POD_NAME", "metadata.name"),
		field("POD_NAMESPACE", "metadata.namespace"),
		field("POD_UID", "metadata.uid"),
	}
}
