package main

import (
	"bytes"
	"fmt"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// image describes how a container runtime runs a layer.
type image struct {
	tag, arch, user, entrypoint string
	labels                      map[string]string
}

// archive returns the image as a docker-archive. Its layer is not compressed: the archive is
// loaded on the machine that built it.
func (i image) archive(layer []byte) ([]byte, error) {
	tag, err := name.NewTag(i.tag)
	if err != nil {
		return nil, fmt.Errorf("reading -tag: %w", err)
	}
	img, err := mutate.AppendLayers(empty.Image, static.NewLayer(layer, types.DockerUncompressedLayer))
	if err != nil {
		return nil, fmt.Errorf("adding the layer: %w", err)
	}
	if img, err = i.configure(img); err != nil {
		return nil, fmt.Errorf("writing the configuration: %w", err)
	}
	var buf bytes.Buffer
	if err := tarball.Write(tag, img, &buf); err != nil {
		return nil, fmt.Errorf("writing the archive: %w", err)
	}
	return buf.Bytes(), nil
}

// configure returns img with the configuration of i.
func (i image) configure(img v1.Image) (v1.Image, error) {
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.Architecture, file.OS = i.arch, "linux"
	file.Created = v1.Time{Time: time.Unix(0, 0).UTC()} // equal files give equal bytes
	file.History = nil
	file.Config = v1.Config{
		User: i.user, WorkingDir: "/", Labels: i.labels,
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}
	if i.entrypoint != "" {
		file.Config.Entrypoint = []string{i.entrypoint}
	}
	return mutate.ConfigFile(img, file)
}
