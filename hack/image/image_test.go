package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// build runs the command on a folder with a program and a link to it.
func build(t *testing.T, more ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "root", "bin", "program")
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!program"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("program", filepath.Join(dir, "root", "bin", "link")); err != nil {
		t.Fatal(err)
	}
	output := filepath.Join(dir, "image.tar")
	args := append([]string{"-o", output, "-tag", "localhost/test:1", "-add", filepath.Join(dir, "root") + ":/"}, more...)
	if err := run(args); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// entries returns the headers of a tar by name, and the content of its files.
func entries(t *testing.T, data []byte) (map[string]*tar.Header, map[string][]byte) {
	t.Helper()
	headers, files := map[string]*tar.Header{}, map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return headers, files
		}
		if err != nil {
			t.Fatal(err)
		}
		if headers[h.Name] != nil {
			t.Errorf("the archive holds %s twice", h.Name)
		}
		headers[h.Name] = h
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func sha256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func unmarshal[T any](t *testing.T, data []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestArchiveNamesPartsByDigest(t *testing.T) {
	_, files := entries(t, build(t))
	m := unmarshal[tarball.Manifest](t, files["manifest.json"])[0]
	if diff := cmp.Diff([]string{"localhost/test:1"}, m.RepoTags); diff != "" {
		t.Error(diff)
	}
	if got := "sha256:" + sha256Hex(files[m.Config]); got != m.Config {
		t.Errorf("config %s has the digest %s", m.Config, got)
	}
	c := unmarshal[v1.ConfigFile](t, files[m.Config])
	if diff := cmp.Diff([]v1.Hash{{Algorithm: "sha256", Hex: sha256Hex(files[m.Layers[0]])}}, c.RootFS.DiffIDs); diff != "" {
		t.Error(diff)
	}
}

// A container runtime could not load an incomplete archive.
func TestArchiveIsValidImage(t *testing.T) {
	data := build(t)
	img, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
}

func TestConfigHasFlags(t *testing.T) {
	_, files := entries(t, build(t, "-arch", "arm64", "-entrypoint", "/bin/program",
		"-label", "org.opencontainers.image.version=v1", "-label", "note=a=b"))
	c := unmarshal[v1.ConfigFile](t, files[unmarshal[tarball.Manifest](t, files["manifest.json"])[0].Config])
	if c.Architecture != "arm64" || c.OS != "linux" {
		t.Errorf("platform is %s/%s", c.OS, c.Architecture)
	}
	want := v1.Config{
		User: "65532", WorkingDir: "/", Entrypoint: []string{"/bin/program"},
		Env:    c.Config.Env,
		Labels: map[string]string{"org.opencontainers.image.version": "v1", "note": "a=b"},
	}
	if diff := cmp.Diff(want, c.Config); diff != "" {
		t.Error(diff)
	}
}

func TestLayerHoldsAddedFiles(t *testing.T) {
	_, files := entries(t, build(t))
	m := unmarshal[tarball.Manifest](t, files["manifest.json"])[0]
	headers, files := entries(t, files[m.Layers[0]])
	for name, mode := range map[string]int64{"tmp/": 0o1777, "etc/": 0o755, "etc/passwd": 0o644, "bin/": 0o755, "bin/program": 0o744} {
		if h := headers[name]; h == nil || h.Mode != mode {
			t.Errorf("%s: got %v, want mode %o", name, h, mode)
		}
	}
	if got := string(files["bin/program"]); got != "#!program" {
		t.Errorf("the program holds %q", got)
	}
	if h := headers["bin/link"]; h == nil || h.Typeflag != tar.TypeSymlink || h.Linkname != "program" {
		t.Errorf("link: got %v", h)
	}
	for name, h := range headers {
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s: owner %d:%d, time %v; want root and 1970", name, h.Uid, h.Gid, h.ModTime)
		}
	}
}

func TestEqualFilesGiveEqualBytes(t *testing.T) {
	if !bytes.Equal(build(t, "-label", "a=1", "-label", "b=2"), build(t, "-label", "b=2", "-label", "a=1")) {
		t.Error("two archives of the same files differ")
	}
}

func TestInvalidFlagsAreRefused(t *testing.T) {
	for _, test := range []struct{ args, message string }{
		{"-tag x:1", "-o and -tag are required"},
		{"-o x -tag x:1 rest", "unexpected arguments: rest"},
		{"-o x -tag x:1 -label version", "not KEY=VALUE"},
		{"-o x -tag x:1 -add program:bin", "not SOURCE:/PATH"},
		{"-o x -tag x:1 -add /no/such/file:/x", "adding /no/such/file"},
		{"-o x -tag X:1", "reading -tag"},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Chdir(t.TempDir())
			err := run(strings.Fields(test.args))
			if err == nil || !strings.Contains(err.Error(), test.message) {
				t.Errorf("got %v, want %q", err, test.message)
			}
		})
	}
}
