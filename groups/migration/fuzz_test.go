package migration

import (
	"bytes"
	"testing"
)

// FuzzSources checks that any text is refused, or gives groups of its channels.
func FuzzSources(f *testing.F) {
	f.Add([]byte(typeInfos))
	f.Add([]byte(engineText))
	f.Add([]byte("pv,mode,period\nA,scan,1\n"))
	f.Add([]byte("A\nB\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, read := range []func() (*Source, error){
			func() (*Source, error) { return Appliance(bytes.NewReader(text)) },
			func() (*Source, error) { return EngineXML(bytes.NewReader(text), "rdb") },
			func() (*Source, error) { return List(bytes.NewReader(text)) },
		} {
			s, err := read()
			if err != nil {
				continue
			}
			groups, err := Plan(s, options)
			if err != nil {
				continue
			}
			n := 0
			for i := range groups {
				for _, l := range groups[i].Lists {
					n += len(l)
				}
			}
			if n != len(s.Channels) {
				t.Fatalf("%d of %d channels are in groups", n, len(s.Channels))
			}
		}
	})
}
