package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A build makes a release. Its bytes depend on the commit, the version, the version of Go, and the
// versions of cyclonedx-gomod and Helm, all of which are pinned. They do not depend on paths, on the
// machine or on the clock.
type build struct {
	version, revision string
	created           time.Time // of the commit
	arches            []string
	source            string // folder of the module
	dir               string // folder of the release
	tools             struct{ sbom, helm string }
	out               io.Writer
}

// run writes all files of the release.
func (b *build) run(ctx context.Context) error {
	if entries, err := os.ReadDir(b.dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty; a release must not contain files of another one", b.dir)
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	licenses, err := b.licenses(ctx)
	if err != nil {
		return err
	}
	defer os.RemoveAll(licenses)
	for _, arch := range b.arches {
		b.print("program for linux/%s", arch)
		if err := b.program(ctx, arch); err != nil {
			return err
		}
		if err := b.sbom(ctx, arch); err != nil {
			return err
		}
	}
	b.print("image and charts")
	if err := b.image(licenses); err != nil {
		return err
	}
	for _, chart := range charts {
		if err := b.chart(ctx, chart); err != nil {
			return err
		}
	}
	if err := b.provenance(); err != nil {
		return err
	}
	return writeSums(b.dir)
}

func (b *build) print(format string, args ...any) {
	fmt.Fprintf(b.out, "release: "+format+"\n", args...)
}

// programName is the name of a program in the release.
func (b *build) programName(arch string) string {
	return filepath.Join(b.dir, "varve-"+b.version+"-linux-"+arch)
}

// program builds the static program for an architecture.
func (b *build) program(ctx context.Context, arch string) error {
	output, err := filepath.Abs(b.programName(arch))
	if err != nil {
		return err
	}
	_, err = b.command(ctx, arch, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -buildid= -X main.release="+b.version, "-o", output, "./cmd/varve")
	return err
}

// command runs a program in the source for an architecture of Linux, and returns its output.
func (b *build) command(ctx context.Context, arch, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = b.source
	// Settings of the user, such as -tags or GOAMD64, would change the programs.
	c.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=",
		"GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off")
	output, err := c.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("running %s %s: %w", filepath.Base(name), args[0], err)
	}
	return output, nil
}
