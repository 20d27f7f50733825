package manifest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/api/v1alpha1"
)

// manifestOf returns a valid manifest of a group with one channel.
func manifestOf(name, channel string) string {
	return fmt.Sprintf(`apiVersion: varve.dev/v1alpha1
kind: ArchiveGroup
metadata: {name: %s}
spec:
  archiverRef: {name: main}
  channels:
  - name: %q
`, name, channel)
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// summary shows groups as "namespace/name channel …".
func summary(r Result) []string {
	var out []string
	for _, g := range r.Groups {
		s := key(&g)
		for _, c := range g.Spec.Channels {
			s += " " + c.Name
		}
		out = append(out, s)
	}
	return out
}

// messages shows errors without the directory.
func messages(r Result, dir string) []string {
	var out []string
	for _, err := range r.Errors {
		out = append(out, strings.ReplaceAll(err.Error(), dir+"/", ""))
	}
	return out
}

func TestLoadDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "b.yaml", "# Two groups.\n---\n"+manifestOf("b1", "B:1")+"--- # the next\n"+manifestOf("b2", "B:2")+"---\n# nothing\n")
	write(t, dir, "a.yml", manifestOf("a", "A:1"))
	write(t, dir, "c.json", `{"apiVersion": "varve.dev/v1alpha1", "kind": "ArchiveGroup", "metadata": {"name": "c", "namespace": "ring"},
		"spec": {"archiverRef": {"name": "main"}, "channels": [{"name": "C:1"}]}, "status": {"observedGeneration": 7}}`)
	write(t, dir, ".d.yaml.swp.yaml", "no manifest")
	write(t, dir, "notes.txt", "no manifest")
	write(t, dir, "kustomization.yaml", "resources: [a.yml]")
	r := Load(dir)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	want := []string{"default/a A:1", "default/b1 B:1", "default/b2 B:2", "ring/c C:1"}
	if diff := cmp.Diff(want, summary(r)); diff != "" {
		t.Error(diff)
	}
	if r.Groups[3].Status != nil {
		t.Error("the status of a file was read")
	}
	if p := r.Groups[0].Spec.DeletionPolicy; p != v1alpha1.RetainData {
		t.Errorf("the default of deletionPolicy is %q", p)
	}
}

func TestOneBadFileDoesNotHideTheOthers(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", manifestOf("good", "A")+"---\n"+manifestOf("bad", "A B"))
	write(t, dir, "b.yaml", manifestOf("broken", "B")+"  retention: [\n")
	write(t, dir, "c.yaml", manifestOf("late", "C")+"---\nkind: Pod\napiVersion: v1\n---\n- list\n")
	write(t, dir, "d.yaml", manifestOf("good", "D"))
	write(t, dir, "e.yaml", "a: 1\n---\n"+manifestOf("e", "E")+"  paused: true\n  paused: false\n")
	if err := os.Symlink("nowhere", filepath.Join(dir, "f.yaml")); err != nil {
		t.Fatal(err)
	}
	r := Load(dir)
	if diff := cmp.Diff([]string{"default/good A", "default/late C"}, summary(r)); diff != "" {
		t.Error(diff)
	}
	want := []string{
		`a.yaml:15: ArchiveGroup "bad": spec.channels[0].name: Invalid value: "A B": spec.channels[0].name in body should match '^\S+$'`,
		`b.yaml:8: yaml: did not find expected node content`,
		`c.yaml:9: apiVersion is "v1" and kind is "Pod": files may contain only ArchiveGroup of varve.dev/v1alpha1 and ConfigMap of v1`,
		`c.yaml:12: the document is of type array instead of an object`,
		`d.yaml: ArchiveGroup "good": namespace "default" already has a group of this name in a.yaml`,
		`e.yaml:1: apiVersion is missing and kind is missing: files may contain only ArchiveGroup of varve.dev/v1alpha1 and ConfigMap of v1`,
		`e.yaml:11: yaml: unmarshal errors: key "paused" already set in map`,
		`f.yaml: reading the file: no such file or directory`,
	}
	if diff := cmp.Diff(want, messages(r, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestLoadFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "other.yaml", manifestOf("other", "O"))
	r := Load(write(t, dir, "one.conf", manifestOf("one", "A"))) // a path to a file may have any name
	if diff := cmp.Diff([]string{"default/one A"}, summary(r)); diff != "" || r.Err() != nil {
		t.Error(diff, r.Err())
	}
}

func TestLoadWithoutFiles(t *testing.T) {
	if err := Load(filepath.Join(t.TempDir(), "missing")).Err(); err == nil || !strings.Contains(err.Error(), "missing: no such file or directory") {
		t.Error(err)
	}
	r := Load(t.TempDir())
	if r.Err() != nil || len(r.Groups) != 0 {
		t.Errorf("an empty directory gives %v", r)
	}
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	if err := Load(dir).Err(); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Error(err)
	}
}

func TestMetadataIsChecked(t *testing.T) {
	for meta, want := range map[string]string{
		"name: Not_OK":           `metadata.name: Invalid value: "Not_OK"`,
		"labels: {}":             "metadata.name: Required value",
		"name: x, lables: {}":    `unknown field "metadata.lables"`,
		"name: x, labels: [a]":   "metadata: Invalid value",
		"name: x, namespace: A_": `metadata.namespace: Invalid value: "A_"`,
	} {
		text := "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {" + meta + "}\nspec: {archiverRef: {name: main}}\n"
		if found, errs := parse("f.yaml", []byte(text)); len(found.groups) != 0 || !mention(errs, want) {
			t.Errorf("%s: %v", meta, errs)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(manifestOf("a", "A") + "---\n" + manifestOf("b", "B")))
	f.Add([]byte("---\n--- # x\n- a\n---"))
	f.Add([]byte("apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: 1\nspec: {channels: {}}"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		found, errs := parse("f.yaml", content)
		for _, g := range found.groups {
			if g.Name == "" || g.Namespace == "" || g.Spec.ArchiverRef.Name == "" {
				t.Errorf("accepted: %+v (%v)", g, errs)
			}
		}
	})
}

// TestAListOfKubectlIsRead checks that the output of kubectl get -o yaml can be read, with the place of each error.
func TestAListOfKubectlIsRead(t *testing.T) {
	item := func(name, channel string) string {
		return "- apiVersion: varve.dev/v1alpha1\n  kind: ArchiveGroup\n  metadata: {name: " + name + ", namespace: ring, uid: 8f0e1c0c, resourceVersion: '7'}\n" +
			"  spec:\n    archiverRef: {name: main}\n    channels: [{name: '" + channel + "'}]\n  status: {observedGeneration: 1}\n"
	}
	dir := t.TempDir()
	write(t, dir, "a.yaml", "apiVersion: v1\nkind: List\nmetadata: {resourceVersion: ''}\nitems:\n"+item("one", "A")+item("two", "B C")+"- three\n")
	r := Load(dir)
	if diff := cmp.Diff([]string{"ring/one A"}, summary(r)); diff != "" {
		t.Error(diff)
	}
	want := []string{
		`a.yaml:17: ArchiveGroup "two": spec.channels[0].name: Invalid value: "B C": spec.channels[0].name in body should match '^\S+$'`,
		`a.yaml:19: items[2] is no object`,
	}
	if diff := cmp.Diff(want, messages(r, dir)); diff != "" {
		t.Error(diff)
	}
	if at, ok := errors.AsType[*Error](r.Errors[0]); !ok || at.Column != 17 {
		t.Errorf("the place is %+v", at)
	}
}

// TestTransitionsAreKnown checks that the rules about changes are known, so that a check can say that it skips them.
func TestTransitionsAreKnown(t *testing.T) {
	if got := Transitions("Archiver"); len(got) < 8 || !slices.Contains(got, "shards cannot be changed") {
		t.Errorf("rules of Archiver: %q", got)
	}
	if got := slices.Concat(Transitions("ArchiveGroup"), Transitions("Pod")); len(got) > 0 {
		t.Errorf("rules of ArchiveGroup and Pod: %q", got)
	}
}

// TestFiles checks which files of a directory are read.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"ring", ".git"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, sub), "b.yml", "")
	}
	write(t, dir, "a.yaml", "")
	write(t, dir, "kustomization.yaml", "")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path      string
		recursive bool
		want      []string
	}{
		{dir, false, []string{dir + "/a.yaml"}}, {dir, true, []string{dir + "/a.yaml", dir + "/ring/b.yml"}},
		{link, true, []string{link + "/a.yaml", link + "/ring/b.yml"}}, {dir + "/kustomization.yaml", false, []string{dir + "/kustomization.yaml"}},
	} {
		if got, err := Files(c.path, c.recursive); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s, recursive %t: %q %v", c.path, c.recursive, got, err)
		}
	}
	if _, err := Files(t.TempDir(), true); err == nil {
		t.Error("an empty directory has no error")
	}
}

// TestWarnings checks that what is valid but probably not meant is reported.
func TestWarnings(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "empty.yaml", "# nothing yet\n")
	write(t, dir, "good.yaml", manifestOf("good", "SR01-VA:PRES-01"))
	write(t, dir, "none.yaml", "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {name: none}\nspec:\n  archiverRef: {name: main}\n")
	write(t, dir, "list.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: list}\ndata:\n  pvs: |\n    SR01-VA:PRES-02\n    SR0?-VA:PRES-03\n")
	write(t, dir, "pattern.yaml", manifestOf("pattern", "SR01-VA:*"))
	r := Load(dir)
	if r.Err() != nil || len(r.Groups) != 3 {
		t.Fatalf("groups %v, errors %v", summary(r), r.Err())
	}
	want := []string{"empty.yaml: the file has no", `list.yaml: ConfigMap "list": channel "SR0?-VA:PRES-03" is not a pattern`, `none.yaml: ArchiveGroup "none" has no channels`, `pattern.yaml: ArchiveGroup "pattern": channel "SR01-VA:*" is not a pattern`}
	for i, text := range r.Warnings {
		if text = strings.ReplaceAll(text, dir+"/", ""); i >= len(want) || !strings.HasPrefix(text, want[i]) {
			t.Errorf("unexpected warning %q", text)
		}
	}
	if len(r.Warnings) != len(want) {
		t.Errorf("%d warnings, want %d", len(r.Warnings), len(want))
	}
}
