package sources

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/groups/compile"
)

// Parse returns the names in all keys of a ConfigMap, one name per line. A '#' at the start of
// a line or after a space starts a comment.
func Parse(cm *corev1.ConfigMap) compile.Listed {
	var out compile.Listed
	for _, key := range slices.Sorted(maps.Keys(cm.BinaryData)) {
		out.AddProblem("", fmt.Sprintf("ConfigMap %q, key %q: binary data is ignored; use text with one name per line", cm.Name, key))
	}
	for _, key := range slices.Sorted(maps.Keys(cm.Data)) {
		text := strings.TrimPrefix(cm.Data[key], "\ufeff") // byte order mark of some editors
		number := 0
		for line := range strings.Lines(text) {
			number++
			name := withoutComment(line)
			if name == "" {
				continue
			}
			if problem := check(name); problem != "" {
				out.AddProblem("", fmt.Sprintf("ConfigMap %q, key %q, line %d: %s %s", cm.Name, key, number, quote(name), problem))
				continue
			}
			out.Names = append(out.Names, name)
		}
	}
	return out
}

// withoutComment returns a line without its comment and surrounding spaces.
func withoutComment(line string) string {
	for i := 0; i < len(line); i++ {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			line = line[:i]
			break
		}
	}
	return strings.TrimSpace(line)
}
