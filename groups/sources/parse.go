package sources

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/groups/compile"
)

// Parse returns the names in all keys of a ConfigMap, one per line. A '#' at the
// start of a line or after a space begins a comment.
func Parse(cm *corev1.ConfigMap) compile.Listed {
	var out compile.Listed
	for _, key := range slices.Sorted(maps.Keys(cm.BinaryData)) {
		out.Tell("", fmt.Sprintf("ConfigMap %q, key %q: it is binary data, not text, and is not read", cm.Name, key))
	}
	for _, key := range slices.Sorted(maps.Keys(cm.Data)) {
		text := strings.TrimPrefix(cm.Data[key], "\ufeff") // as some editors write
		number := 0
		for line := range strings.Lines(text) {
			number++
			name := withoutComment(line)
			if name == "" {
				continue
			}
			if problem := check(name); problem != "" {
				out.Tell("", fmt.Sprintf("ConfigMap %q, key %q, line %d: %s %s", cm.Name, key, number, quote(name), problem))
				continue
			}
			out.Names = append(out.Names, name)
		}
	}
	return out
}

// withoutComment returns what a line says.
func withoutComment(line string) string {
	for i := 0; i < len(line); i++ {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			line = line[:i]
			break
		}
	}
	return strings.TrimSpace(line)
}
