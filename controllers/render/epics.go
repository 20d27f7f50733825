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
	// Broadcasts in a pod network do not reach IOCs.
	auto := a.Spec.Engines.HostNetwork
	if e.AutoAddrList != nil {
		auto = *e.AutoAddrList
	}
	yesNo := "NO"
	if auto {
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
