// Command image writes a container image without a daemon and without a registry:
//
//	files ──▶ image ──▶ docker-archive (tar)
//	          hack/oci
//
// `docker load`, `ctr images import` and `kind load image-archive` read the archive. Equal files
// and flags give equal bytes.
//
//	go run ./hack/image -o bin/varve-image.tar -tag localhost/varve:v1 -entrypoint /varve -add bin/varve:/varve
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"varve.dev/varve/hack/oci"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run writes the image that the command line args describe.
func run(args []string) error {
	var (
		flags  = flag.NewFlagSet("image", flag.ContinueOnError)
		output = flags.String("o", "", "file to write")
		tag    = flags.String("tag", "", "name of the image: NAME:TAG")
		config = oci.Config{Labels: map[string]string{}}
		added  []oci.Source
	)
	flags.StringVar(&config.Arch, "arch", runtime.GOARCH, "architecture of the image, as in GOARCH")
	flags.StringVar(&config.User, "user", "65532", "user ID that the program runs as")
	flags.StringVar(&config.Entrypoint, "entrypoint", "", "path of the program that the container runs")
	flags.Func("label", "label `KEY=VALUE` of the image; can be repeated", func(s string) error {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return fmt.Errorf("%q is not KEY=VALUE", s)
		}
		config.Labels[key] = value
		return nil
	})
	flags.Func("add", "`SOURCE:PATH`: a file or folder, and its path in the image; can be repeated", func(s string) error {
		from, to, ok := strings.Cut(s, ":")
		if !ok || !strings.HasPrefix(to, "/") {
			return fmt.Errorf("%q is not SOURCE:/PATH", s)
		}
		added = append(added, oci.Source{From: from, To: to})
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected arguments: %s", strings.Join(flags.Args(), " "))
	}
	if *output == "" || *tag == "" {
		return fmt.Errorf("-o and -tag are required")
	}
	layer, err := oci.Layer(added)
	if err != nil {
		return err
	}
	data, err := archive(*tag, layer, config)
	if err != nil {
		return err
	}
	return writeFile(*output, data)
}

// archive returns an image with one layer as a docker-archive. The layer is not compressed: the archive
// is loaded on the machine that built it.
func archive(tag string, layer []byte, c oci.Config) ([]byte, error) {
	ref, err := name.NewTag(tag)
	if err != nil {
		return nil, fmt.Errorf("reading -tag: %w", err)
	}
	img, err := oci.Image(empty.Image, static.NewLayer(layer, types.DockerUncompressedLayer), c)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if err := tarball.Write(ref, img, &buf); err != nil {
		return nil, fmt.Errorf("writing the archive: %w", err)
	}
	return buf.Bytes(), nil
}

// writeFile writes to a temporary file and renames it, so that name is never incomplete.
func writeFile(name string, data []byte) error {
	if err := os.WriteFile(name+".new", data, 0o644); err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	return os.Rename(name+".new", name)
}
