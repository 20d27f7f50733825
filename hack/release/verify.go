package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// runVerify checks that a release is complete and was signed with a key.
func runVerify(ctx context.Context, flags *flag.FlagSet, args []string, out io.Writer) error {
	var s signer
	dir, err := s.flags(flags, "file with the public key", args)
	if err != nil {
		return err
	}
	if err := checkSums(dir); err != nil {
		return err
	}
	if err := s.run(ctx, "verify-blob", "--insecure-ignore-tlog=true", "--key", s.key,
		"--signature", filepath.Join(dir, signatureFile), filepath.Join(dir, sumsFile)); err != nil {
		return err
	}
	address, stop, err := serve()
	if err != nil {
		return err
	}
	defer stop()
	references, err := push(ctx, dir, address)
	if err != nil {
		return err
	}
	for _, ref := range references {
		if err := s.run(ctx, "verify", "--insecure-ignore-tlog=true", "--key", s.key, ref.String()); err != nil {
			return err
		}
	}
	images, err := platforms(ctx, references[0])
	if err != nil {
		return err
	}
	if err := s.checkAttestation(ctx, references[0], "slsaprovenance1"); err != nil {
		return err
	}
	for _, ref := range images {
		if err := errors.Join(s.checkAttestation(ctx, ref, "cyclonedx"), s.checkAttestation(ctx, ref, "slsaprovenance1")); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "release: the sums, %d signatures, and the SBOMs and provenance of %d images are valid\n", len(references)+1, len(images))
	return nil
}

func (s *signer) checkAttestation(ctx context.Context, ref name.Reference, kind string) error {
	return s.run(ctx, "verify-attestation", "--insecure-ignore-tlog=true", "--key", s.key, "--type", kind, ref.String())
}

// checkSums compares the files of a release with its sums. It names the first line that differs.
func checkSums(dir string) error {
	want, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return err
	}
	got, err := sumsOf(dir)
	if err != nil {
		return err
	}
	if bytes.Equal(got, want) {
		return nil
	}
	files := map[string]string{} // sum by name
	for line := range strings.Lines(string(got)) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		files[file] = sum
	}
	for line := range strings.Lines(string(want)) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if files[file] != sum {
			return fmt.Errorf("%s is missing, or is not the file that %s names", file, sumsFile)
		}
		delete(files, file)
	}
	for file := range files {
		return fmt.Errorf("%s does not name %s", sumsFile, file)
	}
	return fmt.Errorf("%s is not in the order of its names", sumsFile)
}
