package migration

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/groups/compile"
	"varve.dev/varve/groups/manifest"
	"varve.dev/varve/groups/sources"
)

// TestLong_RoundTripOf200000PVs imports the configuration of 200,000 PVs, writes the manifests, reads them
// as an archiver does, and compares the settings of each PV with those that the generator of the source
// wanted. It prints time and memory.
func TestLong_RoundTripOf200000PVs(t *testing.T) {
	const pvs = 200_000
	text, want := export(0, pvs)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	s, err := Appliance(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	files, groups := made(t, s, options)
	runtime.ReadMemStats(&after)
	t.Logf("%d PVs, %d MB of JSON: %d groups, %d files in %.1f s; allocated %d MB in all, heap of the process %d MB", len(s.Channels), len(text)>>20,
		len(groups), len(files), time.Since(began).Seconds(), (after.TotalAlloc-before.TotalAlloc)>>20, after.HeapSys>>20)

	dir := t.TempDir()
	for range 2 {
		if _, err := Write(dir, files); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := Compare(dir, files); err != nil || !c.Empty() {
		t.Errorf("after a repetition, %+v differ, %v", c, err)
	}
	r := manifest.Load(dir)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	maps := map[string]*corev1.ConfigMap{}
	for _, cm := range r.ConfigMaps {
		maps[cm.Name] = cm
	}
	listed := map[string]compile.Listed{}
	for i := range r.Groups {
		g := &r.Groups[i]
		listed["default/"+g.Name], _ = sources.List(g, sources.Lookup{ConfigMap: func(_, name string) (*corev1.ConfigMap, sources.State) {
			return maps[name], sources.Found
		}})
	}
	for _, channels := range compile.Compile(r.Groups, listed, compile.Archive{Shards: 64, Provider: capture.PVA}, time.Now()).Assignment {
		for i := range channels {
			w, found := want[channels[i].PV]
			got := capture.Settings{Mode: channels[i].Settings.Mode, Period: channels[i].Settings.Period, Provider: channels[i].Settings.Provider, Paused: channels[i].Settings.Paused}
			if !found || got != w || channels[i].Settings.Properties != "" || channels[i].Settings.Absolute != 0 || channels[i].Settings.MaxRate != 0 {
				t.Fatalf("%s is captured with %+v, want %+v", channels[i].PV, got, w)
			}
			delete(want, channels[i].PV)
		}
	}
	if len(want) > 0 {
		t.Errorf("%d PVs are not captured", len(want))
	}
}
