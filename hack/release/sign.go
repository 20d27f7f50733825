package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// A signer runs cosign: https://docs.sigstore.dev/cosign/. It uses keys, and no public log, so that it
// works without a network.
type signer struct {
	cosign, key string
}

// flags reads the flags that sign and verify share.
func (s *signer) flags(flags *flag.FlagSet, key string, args []string) (dir string, err error) {
	flags.StringVar(&s.cosign, "cosign", "cosign", "path of the program cosign")
	flags.StringVar(&s.key, "key", "", key)
	if dir, err = parse(flags, args); err != nil {
		return "", err
	}
	if s.key == "" {
		return "", fmt.Errorf("-key is required: %s", key)
	}
	if _, err := os.Stat(filepath.Join(dir, sumsFile)); err != nil {
		return "", fmt.Errorf("%s is not a release: %w", dir, err)
	}
	return dir, nil
}

// run runs cosign.
func (s *signer) run(ctx context.Context, args ...string) error {
	output, err := exec.CommandContext(ctx, s.cosign, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("running cosign %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return nil
}

// runSign signs the sums, the image and the charts. It attests the SBOM and the provenance of the image.
// COSIGN_PASSWORD is the password of the key.
func runSign(ctx context.Context, flags *flag.FlagSet, args []string, out io.Writer) error {
	var s signer
	builder := flags.String("builder", "https://varve.dev/builders/local", "URI of the machine that built the release, for the provenance")
	dir, err := s.flags(flags, "file with the private key, from cosign generate-key-pair", args)
	if err != nil {
		return err
	}
	signatures := filepath.Join(dir, signaturesDir)
	if _, err := os.Stat(signatures); err == nil {
		return fmt.Errorf("%s exists; remove it to sign the release again", signatures)
	}
	if err := s.run(ctx, "sign-blob", "--yes", "--tlog-upload=false", "--key", s.key,
		"--output-signature", filepath.Join(dir, signatureFile), filepath.Join(dir, sumsFile)); err != nil {
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
		if err := s.run(ctx, "sign", "--yes", "--tlog-upload=false", "--key", s.key, "--recursive", ref.String()); err != nil {
			return err
		}
	}
	images, err := platforms(ctx, references[0])
	if err != nil {
		return err
	}
	if err := s.attestAll(ctx, dir, *builder, references[0], images); err != nil {
		return err
	}
	if err := saveSignatures(ctx, address, signatures); err != nil {
		return err
	}
	fmt.Fprintf(out, "release: signed %s, the image for %d platforms, and the charts\n", sumsFile, len(images))
	return nil
}

// attestAll attests the provenance of an index and of its images, and the SBOM of each image.
func (s *signer) attestAll(ctx context.Context, dir, builder string, index name.Digest, images map[string]name.Digest) error {
	provenance, err := signedProvenance(dir, builder)
	if err != nil {
		return err
	}
	defer os.Remove(provenance)
	if err := s.attest(ctx, index, "slsaprovenance1", provenance); err != nil {
		return err
	}
	for arch, ref := range images {
		sbom, err := sbomOf(dir, arch)
		if err != nil {
			return err
		}
		if err := errors.Join(s.attest(ctx, ref, "cyclonedx", sbom), s.attest(ctx, ref, "slsaprovenance1", provenance)); err != nil {
			return err
		}
	}
	return nil
}

func (s *signer) attest(ctx context.Context, ref name.Reference, kind, file string) error {
	return s.run(ctx, "attest", "--yes", "--tlog-upload=false", "--key", s.key, "--type", kind, "--predicate", file, ref.String())
}

// sbomOf returns the name of the SBOM for an architecture.
func sbomOf(dir, arch string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "varve-*-linux-"+arch+".cdx.json"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("%s has %d SBOMs for %s instead of one", dir, len(files), arch)
	}
	return files[0], nil
}

// platforms returns the images of an index by their architectures.
func platforms(ctx context.Context, ref name.Digest) (map[string]name.Digest, error) {
	index, err := remote.Index(ref, remote.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	images := map[string]name.Digest{}
	for _, d := range manifest.Manifests {
		images[d.Platform.Architecture] = ref.Context().Digest(d.Digest.String())
	}
	return images, nil
}

// saveSignatures copies what cosign wrote to the registry into OCI layouts. cosign names a signature
// by the digest that it signs: sha256-DIGEST.sig, and an attestation sha256-DIGEST.att.
func saveSignatures(ctx context.Context, address, dir string) error {
	for _, l := range layouts {
		repository, err := name.NewRepository(address + "/" + l.repository)
		if err != nil {
			return err
		}
		tags, err := remote.List(repository, remote.WithContext(ctx))
		if err != nil {
			return err
		}
		path, err := layout.Write(filepath.Join(dir, l.dir), empty.Index)
		if err != nil {
			return err
		}
		for _, tag := range tags {
			if !strings.HasPrefix(tag, "sha256-") {
				continue
			}
			img, err := remote.Image(repository.Tag(tag), remote.WithContext(ctx))
			if err != nil {
				return err
			}
			if err := appendTo(path, tag, img); err != nil {
				return err
			}
		}
	}
	return nil
}
