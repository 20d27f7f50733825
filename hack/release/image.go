package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"varve.dev/varve/hack/oci"
)

// refName is the annotation that names an image in an OCI layout:
// https://github.com/opencontainers/image-spec/blob/main/annotations.md
const refName = "org.opencontainers.image.ref.name"

// image writes the image of all architectures to the OCI layout image/. licenses is a folder, which
// the image has as /licenses.
func (b *build) image(licenses string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range b.arches {
		img, err := b.imageOf(arch, licenses)
		if err != nil {
			return fmt.Errorf("image for linux/%s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return writeLayout(filepath.Join(b.dir, "image"), b.version, index)
}

// imageOf returns the image of one architecture.
func (b *build) imageOf(arch, licenses string) (v1.Image, error) {
	data, err := oci.Layer([]oci.Source{
		{From: b.programName(arch), To: "/varve"},
		{From: licenses, To: "/licenses"},
	})
	if err != nil {
		return nil, err
	}
	layer, err := compressedLayer(data)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	return oci.Image(base, layer, oci.Config{
		Arch: arch, User: "65532", Entrypoint: "/varve",
		Labels: map[string]string{
			"org.opencontainers.image.title":    "varve",
			"org.opencontainers.image.version":  b.version,
			"org.opencontainers.image.revision": b.revision,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	})
}

// writeLayout writes one image or index into a new OCI layout, under the name ref.
func writeLayout(dir, ref string, content mutate.Appendable) error {
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("writing the layout %s: %w", dir, err)
	}
	return appendTo(path, ref, content)
}

// appendTo adds an image or an index to an OCI layout, under the name ref.
func appendTo(path layout.Path, ref string, content mutate.Appendable) error {
	name := layout.WithAnnotations(map[string]string{refName: ref})
	var err error
	switch content := content.(type) {
	case v1.Image:
		err = path.AppendImage(content, name)
	case v1.ImageIndex:
		err = path.AppendIndex(content, name)
	default:
		err = fmt.Errorf("%T is neither an image nor an index", content)
	}
	if err != nil {
		return fmt.Errorf("writing the layout %s: %w", path, err)
	}
	return nil
}

// compressedLayer returns a layer whose tar is compressed. The bytes depend on the version of Go only.
func compressedLayer(data []byte) (v1.Layer, error) {
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return gzipLayer{static.NewLayer(buf.Bytes(), types.OCILayer), static.NewLayer(data, types.OCIUncompressedLayer)}, nil
}

// A gzipLayer is a compressed layer, and the same layer without compression.
type gzipLayer struct {
	v1.Layer
	plain v1.Layer
}

// DiffID is the digest of the tar without compression.
func (l gzipLayer) DiffID() (v1.Hash, error) { return l.plain.Digest() }
