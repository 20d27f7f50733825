package oci

import (
	"fmt"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// Config says how a container runtime runs an image.
type Config struct {
	// Arch is the architecture, as in GOARCH. The operating system is linux.
	Arch string
	// User is the user ID that the program runs as.
	User string
	// Entrypoint is the path of the program. If it is empty, the user of the image names a program.
	Entrypoint string
	Labels     map[string]string
}

// Image returns base with one more layer, and the configuration c. The image was created in 1970, so
// that equal files give equal bytes.
func Image(base v1.Image, layer v1.Layer, c Config) (v1.Image, error) {
	img, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, fmt.Errorf("adding the layer: %w", err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	file = file.DeepCopy()
	file.Architecture, file.OS = c.Arch, "linux"
	file.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	file.History = nil
	file.Config = v1.Config{
		User: c.User, WorkingDir: "/", Labels: c.Labels,
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}
	if c.Entrypoint != "" {
		file.Config.Entrypoint = []string{c.Entrypoint}
	}
	if img, err = mutate.ConfigFile(img, file); err != nil {
		return nil, fmt.Errorf("writing the configuration: %w", err)
	}
	return img, nil
}
