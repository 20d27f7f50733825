package lab

import (
	"fmt"
	"strings"
)

// Group returns a group's manifest. Each of the settings is one or more lines of its spec.
func Group(name string, settings ...string) string {
	return fmt.Sprintf("---\napiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {name: %s}\nspec:\n  archiverRef: {name: main}\n  %s\n",
		name, strings.Join(settings, "\n  "))
}

// Inline returns the setting that lists PVs in the group itself.
func Inline(pvs ...string) string {
	var b strings.Builder
	b.WriteString("channels:")
	for _, pv := range pvs {
		fmt.Fprintf(&b, "\n  - {name: %q}", pv)
	}
	return b.String()
}

// From returns the setting that lists the ConfigMaps with the group's PVs.
func From(configMaps ...string) string {
	var b strings.Builder
	b.WriteString("channelsFrom:")
	for _, name := range configMaps {
		fmt.Fprintf(&b, "\n  - configMap: {name: %s}", name)
	}
	return b.String()
}

// ConfigMap returns the manifest of a ConfigMap that lists PVs.
func ConfigMap(name string, pvs ...string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {varve.dev/channels: \"true\"}}\ndata:\n  pvs: |\n    %s\n",
		name, strings.Join(pvs, "\n    "))
}
