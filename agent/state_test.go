package agent

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/groups/channellist"
)

// newList returns the name and data of a channel list.
func newList(archiver string, pvs ...string) (name string, data []byte) {
	var channels []capture.Channel
	for _, pv := range pvs {
		channels = append(channels, capture.Channel{PV: pv, Group: "ns/g", Settings: &capture.Settings{}})
	}
	l := channellist.Encode(channels)[0]
	return archiver + "-" + l.Name, l.Data
}

func sampleState() (*savedState, map[string][]byte) {
	name, data := newList("main", "A", "B")
	index := int32(3)
	spec := *orders("a", captures)
	spec.Index, spec.ArchiverRef.Name, spec.Lists = &index, "main", []v1alpha1.ChannelListReference{{Name: name}}
	return &savedState{Engine: "a", Archiver: "main", Shards: []savedShard{
		{Name: "main-0003", Spec: spec, Captured: []string{name}, Seal: true},
	}}, map[string][]byte{name: data}
}

func TestStateSurvivesARestart(t *testing.T) {
	d := &stateDirectory{path: t.TempDir(), engine: "a", archiver: "main"}
	if _, err := d.load(); !errors.Is(err, errNoState) {
		t.Fatalf("loading from an empty directory: got error %v", err)
	}
	st, lists := sampleState()
	if err := d.save(st, lists); err != nil {
		t.Fatal(err)
	}
	got, err := d.load()
	if err != nil || !cmp.Equal(&got, st) {
		t.Fatalf("read %v:\n%s", err, cmp.Diff(st, &got))
	}
	for name, data := range lists {
		if back, err := d.list(name); err != nil || !bytes.Equal(back, data) {
			t.Errorf("reading list %s: %v", name, err)
		}
	}
	// Lists that are no longer needed are removed.
	if err := d.save(&savedState{Engine: "a", Archiver: "main"}, nil); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Join(d.path, listsFolder)); len(left) != 0 {
		t.Errorf("lists were not removed: %v", left)
	}
	if left, _ := os.ReadDir(d.path); len(left) != 2 {
		t.Errorf("temporary files were not removed: %v", left)
	}
}

func TestDamagedStateIsNotUsed(t *testing.T) {
	st, lists := sampleState()
	for name, damage := range map[string]func(d *stateDirectory, path, list string){
		"truncated": func(_ *stateDirectory, p, _ string) { os.Truncate(p, 100) },
		"empty":     func(_ *stateDirectory, p, _ string) { os.Truncate(p, 0) },
		"one bit": func(_ *stateDirectory, p, _ string) {
			text, _ := os.ReadFile(p)
			text[90] ^= 1
			os.WriteFile(p, text, 0o600)
		},
		"too large":         func(_ *stateDirectory, p, _ string) { os.Truncate(p, maxState+1) },
		"a directory":       func(_ *stateDirectory, p, _ string) { os.Remove(p); os.Mkdir(p, 0o700) },
		"of another engine": func(d *stateDirectory, _, _ string) { d.engine = "b" },
	} {
		t.Run(name, func(t *testing.T) {
			d := &stateDirectory{path: t.TempDir(), engine: "a", archiver: "main"}
			if err := d.save(st, lists); err != nil {
				t.Fatal(err)
			}
			damage(d, filepath.Join(d.path, stateFile), "")
			if got, err := d.load(); err == nil || errors.Is(err, errNoState) || len(got.Shards) > 0 {
				t.Errorf("got %d shards, error %v", len(got.Shards), err)
			}
		})
	}
	d := &stateDirectory{path: t.TempDir(), engine: "a", archiver: "main"}
	if err := d.save(st, lists); err != nil {
		t.Fatal(err)
	}
	for name := range lists {
		os.Truncate(filepath.Join(d.path, listsFolder, name), 10)
		if _, err := d.list(name); err == nil {
			t.Error("a truncated list was loaded")
		}
	}
	for _, name := range []string{"", "..", "../state", "nothing"} {
		if _, err := d.list(name); err == nil {
			t.Errorf("the list %q was read", name)
		}
	}
}

func FuzzDecodeState(f *testing.F) {
	st, _ := sampleState()
	whole := encodeState(st)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(stateMagic))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		st, err := decodeState(text)
		if err != nil {
			if len(st.Shards) > 0 {
				t.Error("decoding returned shards together with an error")
			}
			return
		}
		if again, err := decodeState(encodeState(&st)); err != nil || !cmp.Equal(again, st) {
			t.Errorf("decoding the encoded state again: %v", err)
		}
	})
}
