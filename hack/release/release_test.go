package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const testRevision = "0123456789abcdef0123456789abcdef01234567"

// newBuild returns a build into a new folder, with small files in the place of the programs.
func newBuild(t *testing.T) *build {
	t.Helper()
	b := &build{
		version: "v1.2.3", revision: testRevision, created: time.Unix(1800000000, 0).UTC(),
		arches: []string{"amd64", "arm64"}, source: "../..", dir: t.TempDir(), out: io.Discard,
	}
	for _, arch := range b.arches {
		writeFile(t, b.programName(arch), "program for "+arch, 0o755)
	}
	return b
}

func writeFile(t *testing.T, file, content string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// layoutIn returns the index of an OCI layout, and the manifests in it.
func layoutIn(t *testing.T, dir string) (v1.ImageIndex, []v1.Descriptor) {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	return index, manifest.Manifests
}

// newImage builds the image of a release whose licenses are one file.
func newImage(t *testing.T) *build {
	t.Helper()
	b, licenses := newBuild(t), t.TempDir()
	writeFile(t, filepath.Join(licenses, "example.org/module", "LICENSE"), "MIT", 0o600)
	if err := b.image(licenses); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestImageHasAllPlatforms checks that the layout has one valid image with two platforms, and what the images contain.
func TestImageHasAllPlatforms(t *testing.T) {
	b := newImage(t)
	index, manifests := layoutIn(t, filepath.Join(b.dir, "image"))
	if len(manifests) != 1 || manifests[0].Annotations[refName] != "v1.2.3" {
		t.Fatalf("the layout has %+v, want one index with the name v1.2.3", manifests)
	}
	all, err := index.ImageIndex(manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(all); err != nil {
		t.Error(err)
	}
	manifest, err := all.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, d := range manifest.Manifests {
		platforms = append(platforms, d.Platform.String())
		img, err := all.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkFiles(t, img, map[string]string{
			"varve":                               "program for " + d.Platform.Architecture,
			"licenses/example.org/module/LICENSE": "MIT",
		})
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Error(diff)
	}
}

// checkFiles checks the content of some files of the only layer of an image.
func checkFiles(t *testing.T, img v1.Image, want map[string]string) {
	t.Helper()
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("the image has %d layers, %v", len(layers), err)
	}
	r, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	files, err := readTar(data)
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range want {
		if got := string(files[file]); got != content {
			t.Errorf("%s has %q, want %q", file, got, content)
		}
	}
}

// TestEqualBuildsHaveEqualSums builds the image twice, in two folders, and compares all files.
func TestEqualBuildsHaveEqualSums(t *testing.T) {
	var sums [2][]byte
	for i := range sums {
		b := newImage(t)
		if err := b.provenance(); err != nil {
			t.Fatal(err)
		}
		var err error
		if sums[i], err = sumsOf(b.dir); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(sums[0]), string(sums[1])); diff != "" {
		t.Error(diff)
	}
}

// chartArchive returns an archive like those of Helm, whose files have a time.
func chartArchive(t *testing.T, modified time.Time, names ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, file := range names {
		content := "name: varve\n# " + file
		if err := w.WriteHeader(&tar.Header{Name: file, Mode: 0o644, Size: int64(len(content)), ModTime: modified}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestRepackedChartsDependOnTheirFilesOnly packs the same files in two orders, at two times.
func TestRepackedChartsDependOnTheirFilesOnly(t *testing.T) {
	one, meta, err := repack(chartArchive(t, time.Unix(1, 0), "varve/Chart.yaml", "varve/values.yaml"), "varve/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := repack(chartArchive(t, time.Unix(2, 0), "varve/values.yaml", "varve/Chart.yaml"), "varve/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, two) {
		t.Error("two archives of the same files differ")
	}
	if string(meta) != `{"name":"varve"}` {
		t.Errorf("the configuration is %s", meta)
	}
	if _, _, err := repack(chartArchive(t, time.Unix(1, 0), "varve/values.yaml"), "varve/Chart.yaml"); err == nil {
		t.Error("a chart without Chart.yaml is no error")
	}
}

// TestChangedFilesAreFound checks that a release with another, a missing or an additional file is refused.
func TestChangedFilesAreFound(t *testing.T) {
	for message, change := range map[string]func(dir string) error{
		"one is missing":            func(dir string) error { return os.Remove(filepath.Join(dir, "one")) },
		"two is missing, or is not": func(dir string) error { return os.WriteFile(filepath.Join(dir, "two"), []byte("x"), 0o600) },
		"does not name three":       func(dir string) error { return os.WriteFile(filepath.Join(dir, "three"), nil, 0o600) },
	} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "one"), "1", 0o600)
		writeFile(t, filepath.Join(dir, "two"), "2", 0o600)
		if err := writeSums(dir); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, signaturesDir, "image", "index.json"), "{}", 0o600) // signatures have no sums
		if err := checkSums(dir); err != nil {
			t.Fatal(err)
		}
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		if err := checkSums(dir); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("got %v, want %q", err, message)
		}
	}
}

// TestPushedReleaseIsWhole copies a release to a registry, and compares the digests.
func TestPushedReleaseIsWhole(t *testing.T) {
	b := newImage(t)
	address, stop, err := serve()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	repository, err := name.NewRepository(address + "/varve")
	if err != nil {
		t.Fatal(err)
	}
	references, err := copyLayout(t.Context(), filepath.Join(b.dir, "image"), repository)
	if err != nil {
		t.Fatal(err)
	}
	_, manifests := layoutIn(t, filepath.Join(b.dir, "image"))
	if len(references) != 1 || references[0].DigestStr() != manifests[0].Digest.String() {
		t.Fatalf("pushed %v, want %v", references, manifests[0].Digest)
	}
	images, err := platforms(t.Context(), references[0])
	if err != nil || len(images) != 2 {
		t.Errorf("the registry has %v, %v; want two platforms", images, err)
	}
}

// TestLicensesOfTheWebUI checks that hack/release/npm has a license of each npm package in the web UI.
func TestLicensesOfTheWebUI(t *testing.T) {
	packages, err := npmPackages("../../ui/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range packages {
		names = append(names, p.(map[string]any)["name"].(string))
	}
	entries, err := os.ReadDir("npm")
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, e := range entries {
		have = append(have, e.Name())
	}
	if diff := cmp.Diff(have, names); diff != "" {
		t.Errorf("hack/release/npm and ui/package-lock.json differ: %s", diff)
	}
	if err := checkLicenses(packages); err != nil {
		t.Error(err)
	}
}

// TestLicensesOfGo checks that the SBOM has the license of Go's own modules.
func TestLicensesOfGo(t *testing.T) {
	components := []any{
		map[string]any{"name": "std"},
		map[string]any{"name": "golang.org/x/net", "licenses": license("BSD-Source-Code")},
		map[string]any{"name": "example.org/x/net", "licenses": license("BSD-Source-Code")},
	}
	correct(components)
	err := checkLicenses(components)
	if err == nil || !strings.HasSuffix(err.Error(), ": example.org/x/net <nil> (BSD-Source-Code)") {
		t.Errorf("got %v, want that only example.org/x/net is refused", err)
	}
}

// TestLicensesAreChecked checks which components are refused.
func TestLicensesAreChecked(t *testing.T) {
	var components []any
	if err := json.Unmarshal([]byte(`[
		{"name": "a", "version": "1", "licenses": [{"license": {"id": "MIT"}}]},
		{"name": "b", "version": "2", "evidence": {"licenses": [{"license": {"id": "Apache-2.0"}}]}},
		{"name": "c", "version": "3", "licenses": [{"license": {"id": "GPL-3.0-only"}}]},
		{"name": "d", "version": "4"}]`), &components); err != nil {
		t.Fatal(err)
	}
	err := checkLicenses(components)
	if err == nil || !strings.HasSuffix(err.Error(), ": c 3 (GPL-3.0-only); d 4 ()") {
		t.Errorf("got %v, want that c and d are refused", err)
	}
	if err := checkLicenses(components[:2]); err != nil {
		t.Error(err)
	}
}

func TestModulesWithoutALicenseAreRefused(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(from, "README.md"), "", 0o600)
	if err := copyLicenses(from, to); err == nil || !strings.Contains(err.Error(), "no license file") {
		t.Errorf("got %v", err)
	}
	for _, file := range []string{"LICENSE", "LICENCE.txt", "COPYING", "NOTICE.md", "license-APACHE", "licensing.go"} {
		writeFile(t, filepath.Join(from, file), "", 0o600)
	}
	if err := copyLicenses(from, to); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(to)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if want := []string{"COPYING", "LICENCE.txt", "LICENSE", "NOTICE.md", "license-APACHE"}; !slices.Equal(got, want) {
		t.Errorf("copied %v, want %v", got, want)
	}
}

func TestInvalidFlagsAreRefused(t *testing.T) {
	dir := t.TempDir()
	good := "build -version v1.2.3 -revision " + testRevision + " -time 1800000000 -cyclonedx-gomod x -helm y "
	writeFile(t, filepath.Join(dir, "full", "file"), "", 0o600)
	for _, test := range []struct{ args, message string }{
		{"publish x", `"publish" is not a command`},
		{"build", "give one folder"},
		{"build a b", "give one folder"},
		{"build -version 1.2 x", `-version "1.2" is not a version such as v1.2.3`},
		{"build -version v1.2.3+meta x", "-version"},
		{"build -version v1.2.3 -revision main x", "-revision"},
		{"build -version v1.2.3 -revision " + testRevision + " x", "-time"},
		{"build -version v1.2.3 -revision " + testRevision + " -time 1 x", "-cyclonedx-gomod and -helm are required"},
		{good + filepath.Join(dir, "full"), "is not empty"},
		{"sign " + dir, "-key is required"},
		{"sign -key x " + dir, "is not a release"},
		{"verify -key x " + dir, "is not a release"},
		{"push " + dir, "-to is required"},
		{"push -to localhost:1/x " + dir, "reading the layout"},
	} {
		var out bytes.Buffer
		if err := run(t.Context(), strings.Fields(test.args), &out); err == nil || !strings.Contains(err.Error(), test.message) {
			t.Errorf("release %s: got %v, want %q", test.args, err, test.message)
		}
	}
}
