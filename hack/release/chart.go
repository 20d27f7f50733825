package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"
)

// charts are the folders of the Helm charts.
var charts = []string{"charts/varve-operator", "charts/varve"}

// Media types of charts: https://helm.sh/docs/topics/registries/
const (
	chartConfig  types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	chartContent types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// chart writes a chart as NAME-VERSION.tgz, and as OCI layout chart-NAME/.
func (b *build) chart(ctx context.Context, folder string) error {
	dir, err := os.MkdirTemp("", "varve-chart")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	version, name := chartVersion(b.version), filepath.Base(folder)
	if _, err := b.command(ctx, b.arches[0], b.tools.helm, "package", folder, "--version", version,
		"--app-version", b.version, "--destination", dir); err != nil {
		return err
	}
	file := name + "-" + version + ".tgz"
	packed, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return err
	}
	data, meta, err := repack(packed, name+"/Chart.yaml")
	if err != nil {
		return fmt.Errorf("chart %s: %w", name, err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, file), data, 0o644); err != nil {
		return err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), chartConfig)
	img, err := mutate.AppendLayers(base, static.NewLayer(data, chartContent))
	if err != nil {
		return err
	}
	return writeLayout(filepath.Join(b.dir, "chart-"+name), version, chartImage{img, meta})
}

// A chartImage is an image whose configuration is a Chart.yaml as JSON.
type chartImage struct {
	v1.Image
	config []byte
}

func (c chartImage) RawConfigFile() ([]byte, error) { return c.config, nil }
func (c chartImage) ConfigName() (v1.Hash, error)   { return partial.ConfigName(c) }
func (c chartImage) RawManifest() ([]byte, error)   { return partial.RawManifest(c) }
func (c chartImage) Digest() (v1.Hash, error)       { return partial.Digest(c) }
func (c chartImage) Size() (int64, error)           { return partial.Size(c) }

// Manifest returns the manifest with the configuration of the chart.
func (c chartImage) Manifest() (*v1.Manifest, error) {
	m, err := c.Image.Manifest()
	if err != nil {
		return nil, err
	}
	m = m.DeepCopy()
	m.Config.Size = int64(len(c.config))
	m.Config.Digest, err = c.ConfigName()
	return m, err
}

// repack returns a compressed tar with the same files in the order of their names, with times of 1970,
// and its file called config as JSON. Helm writes the files with the time at which it runs.
func repack(packed []byte, config string) (data, meta []byte, err error) {
	files, err := readTar(packed)
	if err != nil {
		return nil, nil, err
	}
	if meta, err = yaml.YAMLToJSON(files[config]); err != nil || len(files[config]) == 0 {
		return nil, nil, errors.Join(fmt.Errorf("the archive has no valid %s", config), err)
	}
	if !json.Valid(meta) {
		return nil, nil, fmt.Errorf("%s is not JSON", config)
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, name := range names {
		h := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(files[name])), Format: tar.FormatUSTAR}
		if err := w.WriteHeader(&h); err != nil {
			return nil, nil, err
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, nil, err
		}
	}
	return buf.Bytes(), meta, errors.Join(w.Close(), z.Close())
}

// readTar returns the files of a compressed tar by their names.
func readTar(packed []byte) (map[string][]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if files[strings.TrimPrefix(h.Name, "./")], err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
}
