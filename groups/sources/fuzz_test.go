package sources

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// FuzzParse checks that any text in a ConfigMap gives only names that a group may list, and problems.
func FuzzParse(f *testing.F) {
	f.Add("SR:VAC:P1\n# comment\nSR:VAC:P2 # comment\r\n")
	f.Add("\ufeffpva://A\n\nA B\n")
	f.Add("#\n#A\nA#B\nA\x00\n")
	f.Fuzz(func(t *testing.T, text string) {
		out := Parse(&corev1.ConfigMap{Data: map[string]string{"pvs": text}})
		for _, name := range out.Names {
			if problem := check(name); name == "" || problem != "" {
				t.Errorf("%q is a name, but %s", name, problem)
			}
		}
	})
}
