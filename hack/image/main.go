// Command image writes a container image without a daemon and without a registry:
//
//	files ──▶ layer (tar) ──▶ config, manifest ──▶ docker-archive (tar)
//	          layer.go        archive.go, with go-containerregistry
//
// `docker load`, `ctr images import` and `kind load image-archive` read the archive. Equal files
// and flags give equal bytes. The command writes the layer itself, because crane.Layer of
// go-containerregistry supports neither file modes nor symbolic links.
//
//	go run ./hack/image -o bin/varve-image.tar -tag localhost/varve:v1 -entrypoint /varve -add bin/varve:/varve
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
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
		image  = image{labels: map[string]string{}}
		added  []source
	)
	flags.StringVar(&image.tag, "tag", "", "name of the image: NAME:TAG")
	flags.StringVar(&image.arch, "arch", runtime.GOARCH, "architecture of the image, as in GOARCH")
	flags.StringVar(&image.user, "user", "65532", "user ID that the program runs as")
	flags.StringVar(&image.entrypoint, "entrypoint", "", "path of the program that the container runs")
	flags.Func("label", "label `KEY=VALUE` of the image; can be repeated", func(s string) error {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return fmt.Errorf("%q is not KEY=VALUE", s)
		}
		image.labels[key] = value
		return nil
	})
	flags.Func("add", "`SOURCE:PATH`: a file or folder, and its path in the image; can be repeated", func(s string) error {
		from, to, ok := strings.Cut(s, ":")
		if !ok || !strings.HasPrefix(to, "/") {
			return fmt.Errorf("%q is not SOURCE:/PATH", s)
		}
		added = append(added, source{from: from, to: to})
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected arguments: %s", strings.Join(flags.Args(), " "))
	}
	if *output == "" || image.tag == "" {
		return fmt.Errorf("-o and -tag are required")
	}
	layer, err := newLayer(added)
	if err != nil {
		return err
	}
	archive, err := image.archive(layer)
	if err != nil {
		return err
	}
	return writeFile(*output, archive)
}

// writeFile writes to a temporary file and renames it, so that name is never incomplete.
func writeFile(name string, data []byte) error {
	if err := os.WriteFile(name+".new", data, 0o644); err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	return os.Rename(name+".new", name)
}
