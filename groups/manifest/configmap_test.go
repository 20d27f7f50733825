package manifest

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// configMapOf returns a manifest of a ConfigMap with names of PVs.
func configMapOf(name, names string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata:\n  pvs: |\n    " + names + "\n"
}

// configMaps shows ConfigMaps as "namespace/name: names".
func configMaps(r Result) (out []string) {
	for _, cm := range r.ConfigMaps {
		out = append(out, key(cm)+": "+cm.Data["pvs"])
	}
	return out
}

func TestConfigMapsBesideGroups(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", configMapOf("pvs", "SR:A")+"---\n"+manifestOf("a", "A:1"))
	write(t, dir, "b.yaml", configMapOf("more", "SR:B")+"immutable: true\n---\n"+configMapOf("pvs", "SR:C"))
	write(t, dir, "c.yaml", configMapOf("Not_OK", "SR:D")+"---\n"+configMapOf("wrong", "SR:E")+"dta: {}\n---\n"+
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: numbers}\ndata: {pvs: [SR:F]}\n")
	r := Load(dir)
	if diff := cmp.Diff([]string{"default/pvs: SR:A\n", "default/more: SR:B\n"}, configMaps(r)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"default/a A:1"}, summary(r)); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{
		`b.yaml: namespace "default" already has a ConfigMap "pvs" in ` + filepath.Join(dir, "a.yaml"),
		`c.yaml:3: metadata.name: Invalid value: "Not_OK"`,
		`c.yaml:8: decoding a ConfigMap: strict decoding error: unknown field "dta"`,
		`c.yaml:16: decoding a ConfigMap: `,
	} {
		if !mention(r.Errors, want) {
			t.Errorf("missing error: %s\nerrors: %v", want, r.Errors)
		}
	}
	if len(r.Errors) != 4 {
		t.Errorf("%d errors", len(r.Errors))
	}
}

// TestConfigMapsOfInvalidFilesKeepTheirContent checks that an invalid ConfigMap keeps its last
// valid content, like groups.
func TestConfigMapsOfInvalidFilesKeepTheirContent(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", configMapOf("pvs", "SR:A"))
	r := newReader(dir)
	before, _ := r.read()
	write(t, dir, "a.yaml", configMapOf("pvs", "SR:A")+"dta: {}\n")
	broken, _ := r.read()
	if diff := cmp.Diff(configMaps(before), configMaps(broken)); diff != "" || len(broken.Errors) != 1 {
		t.Errorf("%v %s", broken.Errors, diff)
	}
	write(t, dir, "a.yaml", configMapOf("pvs", "SR:B"))
	after, _ := r.read()
	if diff := cmp.Diff([]string{"default/pvs: SR:B\n"}, configMaps(after)); diff != "" {
		t.Error(diff)
	}
	if after.Equal(before) || !after.Equal(after) {
		t.Error("results with different ConfigMaps are equal")
	}
}
