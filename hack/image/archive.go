package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// image is what a container runtime is told about a layer.
type image struct {
	tag, arch, user, entrypoint string
	labels                      map[string]string
}

// config is the part of the OCI image configuration that is used here; see
// opencontainers/image-spec, config.md.
type config struct {
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Created      string    `json:"created"`
	Config       execution `json:"config"`
	RootFS       rootFS    `json:"rootfs"`
}

type execution struct {
	User       string            `json:"User,omitempty"`
	Env        []string          `json:"Env,omitempty"`
	Entrypoint []string          `json:"Entrypoint,omitempty"`
	WorkingDir string            `json:"WorkingDir,omitempty"`
	Labels     map[string]string `json:"Labels,omitempty"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

// manifest is the entry of a docker-archive's manifest.json.
type manifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

func (i image) config(layerDigest string) config {
	c := config{
		Architecture: i.arch, OS: "linux", Created: "1970-01-01T00:00:00Z",
		Config: execution{
			User: i.user, WorkingDir: "/", Labels: i.labels,
			Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		},
		RootFS: rootFS{Type: "layers", DiffIDs: []string{"sha256:" + layerDigest}},
	}
	if i.entrypoint != "" {
		c.Config.Entrypoint = []string{i.entrypoint}
	}
	return c
}

// archive returns the image as a docker-archive: config and layer, named by their
// digests, and manifest.json, which says which is which.
func (i image) archive(layer []byte) ([]byte, error) {
	layerDigest := digest(layer)
	config, err := json.Marshal(i.config(layerDigest))
	if err != nil {
		return nil, fmt.Errorf("writing the configuration: %w", err)
	}
	m := manifest{
		Config:   digest(config) + ".json",
		RepoTags: []string{i.tag},
		Layers:   []string{layerDigest + "/layer.tar"},
	}
	index, err := json.Marshal([]manifest{m})
	if err != nil {
		return nil, fmt.Errorf("writing the manifest: %w", err)
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range []struct {
		name string
		data []byte
	}{{m.Config, config}, {m.Layers[0], layer}, {"manifest.json", index}} {
		h := tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: 0o644, Size: int64(len(f.data)), Format: tar.FormatUSTAR}
		if err := w.WriteHeader(&h); err != nil {
			return nil, fmt.Errorf("writing %s: %w", f.name, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("writing %s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("closing the archive: %w", err)
	}
	return buf.Bytes(), nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
