package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// layouts has the OCI layouts of a release, and the repositories below a prefix that they are copied to.
var layouts = []struct{ dir, repository string }{
	{"image", "varve"},
	{"chart-varve-operator", "charts/varve-operator"},
	{"chart-varve", "charts/varve"},
}

// serve runs a registry on loopback, in memory, until stop is called. cosign needs one, since it does
// not read OCI layouts.
func serve() (address string, stop func(), err error) {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)))} //nolint:gosec // on loopback, for cosign
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // returns when the server is closed
	}()
	return listener.Addr().String(), func() { _ = server.Close(); <-done }, nil
}

// runPush copies a release to a registry.
func runPush(ctx context.Context, flags *flag.FlagSet, args []string, out io.Writer) error {
	to := flags.String("to", "", "registry and path below which the repositories are, such as registry.example.org/controls")
	dir, err := parse(flags, args)
	if err != nil {
		return err
	}
	if *to == "" {
		return errors.New("-to is required: a registry and a path, such as registry.example.org/controls")
	}
	references, err := push(ctx, dir, *to)
	for _, r := range references {
		fmt.Fprintln(out, "release: pushed", r)
	}
	return err
}

// push copies image, charts and signatures to repositories below a prefix, and returns the references
// of image and charts, by digest.
func push(ctx context.Context, dir, prefix string) ([]name.Digest, error) {
	var references []name.Digest
	for _, l := range layouts {
		repository, err := name.NewRepository(prefix + "/" + l.repository)
		if err != nil {
			return nil, fmt.Errorf("reading the registry: %w", err)
		}
		pushed, err := copyLayout(ctx, filepath.Join(dir, l.dir), repository)
		if err != nil {
			return nil, err
		}
		references = append(references, pushed...)
		signatures := filepath.Join(dir, signaturesDir, l.dir)
		if _, err := os.Stat(signatures); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if _, err := copyLayout(ctx, signatures, repository); err != nil {
			return nil, err
		}
	}
	return references, nil
}

// copyLayout copies everything in an OCI layout to a repository. Names in the layout become tags.
func copyLayout(ctx context.Context, dir string, to name.Repository) ([]name.Digest, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the layout %s: %w", dir, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("reading the layout %s: %w", dir, err)
	}
	var references []name.Digest
	for _, d := range manifest.Manifests {
		ref := to.Tag(d.Annotations[refName])
		if err := write(ctx, index, d, ref); err != nil {
			return nil, fmt.Errorf("copying %s to %s: %w", dir, ref, err)
		}
		references = append(references, to.Digest(d.Digest.String()))
	}
	return references, nil
}

// write copies one image or index to a registry.
func write(ctx context.Context, index v1.ImageIndex, d v1.Descriptor, ref name.Reference) error {
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if d.MediaType == types.OCIImageIndex {
		child, err := index.ImageIndex(d.Digest)
		if err != nil {
			return err
		}
		return remote.WriteIndex(ref, child, options...)
	}
	img, err := index.Image(d.Digest)
	if err != nil {
		return err
	}
	return remote.Write(ref, img, options...)
}
