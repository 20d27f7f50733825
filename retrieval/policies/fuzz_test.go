package policies

import (
	"testing"

	"varve.dev/varve/groups/ownership"
)

// FuzzDecode checks that any file gives an error or policies that can be applied.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"archiver":"main","policies":[{"metadata":{"name":"vacuum"},"spec":{"archiverRef":{"name":"main"},"prefixes":["SR:VAC:"],"owners":{"archiveGroups":["vacuum-*"],"groups":["vacuum"]},"readers":{"users":["ann"]}}}]}`))
	f.Add([]byte(`{"archiver":"main","policies":[{"spec":{"prefixes":["*",""],"enforcement":"Warn"}},{}]}`))
	f.Add([]byte(`{"archiver":"other"}`))
	f.Add([]byte(`{"archiver":"main","policies":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := decode(text, "main")
		if err != nil {
			if len(list) > 0 {
				t.Error("there are policies together with an error")
			}
			return
		}
		view := ownership.Enforced(list, "main").For("ann", []string{"vacuum"})
		view.Sees("SR:VAC:P1")
		view.All()
	})
}
