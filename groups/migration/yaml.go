package migration

import (
	"bytes"
	"fmt"
	"strings"

	"varve.dev/varve/api/v1alpha1"
)

// LabelFrom is a label of imported objects. Its value is the kind of the source.
const LabelFrom = "varve.dev/imported-from"

// head writes the beginning of an object.
func head(b *bytes.Buffer, kind, apiVersion, name, from string, opts *Options, labels ...string) {
	fmt.Fprintf(b, "%s --from %s; the next import replaces this file\n", Marker, from)
	fmt.Fprintf(b, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %q\n", apiVersion, kind, name)
	if opts.Namespace != "" {
		fmt.Fprintf(b, "  namespace: %q\n", opts.Namespace)
	}
	fmt.Fprintf(b, "  labels:\n    %s: %q\n", LabelFrom, from)
	for _, l := range labels {
		fmt.Fprintf(b, "    %s\n", l)
	}
}

// manifest returns the ArchiveGroup.
func (g *Group) manifest(from string, opts *Options) []byte {
	var b bytes.Buffer
	head(&b, v1alpha1.KindArchiveGroup, v1alpha1.GroupVersion.String(), g.Name, from, opts)
	fmt.Fprintf(&b, "spec:\n  archiverRef: {name: %q}\n", opts.Archiver)
	s := &g.Settings
	if s.Provider != "" {
		fmt.Fprintf(&b, "  provider: %s\n", s.Provider)
	}
	switch {
	case s.Period != "":
		fmt.Fprintf(&b, "  sampling: {mode: Scan, period: %s}\n", s.Period)
	case s.Deadband != 0:
		fmt.Fprintf(&b, "  sampling: {mode: Monitor, deadband: {absolute: %v}}\n", s.Deadband)
	}
	if s.Properties != "" {
		fmt.Fprintf(&b, "  properties: [%s]\n", strings.ReplaceAll(s.Properties, ",", ", "))
	}
	if s.Raw != "" || s.Rollups != "" {
		b.WriteString("  retention:\n")
		if s.Raw != "" {
			fmt.Fprintf(&b, "    raw: %s\n", s.Raw)
		}
		if s.Rollups != "" {
			b.WriteString("    rollups:\n")
			for width := range strings.SplitSeq(s.Rollups, ",") {
				fmt.Fprintf(&b, "    - {every: %s}\n", width)
			}
		}
	}
	if s.EnabledBy != "" {
		fmt.Fprintf(&b, "  enabledBy: {pv: %q}\n", s.EnabledBy)
	}
	if s.Paused {
		b.WriteString("  paused: true\n")
	}
	if len(g.Aliased) > 0 {
		g.writeAliased(&b)
		return b.Bytes()
	}
	b.WriteString("  channelsFrom:\n")
	for n := range g.Lists {
		fmt.Fprintf(&b, "  - configMap: {name: %q}\n", g.listName(n))
	}
	return b.Bytes()
}

// list returns the ConfigMap with a list of names.
func (g *Group) list(n int, names []string, from string, opts *Options) []byte {
	var b bytes.Buffer
	head(&b, "ConfigMap", "v1", g.listName(n), from, opts, v1alpha1.LabelChannels+`: "true"`)
	if len(names) == 0 {
		b.WriteString("data: {}\n")
		return b.Bytes()
	}
	b.WriteString("data:\n  pvs: |\n")
	for _, name := range names {
		b.WriteString("    ")
		b.WriteString(name)
		b.WriteByte('\n')
	}
	return b.Bytes()
}
