package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Names of files of a release.
const (
	provenanceFile = "provenance.json"
	sumsFile       = "SHA256SUMS"
	signatureFile  = sumsFile + ".sig"
	signaturesDir  = "signatures"
)

// A provenance is the predicate of SLSA 1.0: https://slsa.dev/spec/v1.0/provenance
type provenance struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		ResolvedDependencies []dependency      `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
		Metadata struct {
			InvocationID string `json:"invocationId"`
			StartedOn    string `json:"startedOn"`
		} `json:"metadata"`
	} `json:"runDetails"`
}

// A dependency is something that the build used.
type dependency struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest,omitempty"`
}

// anyBuilder is the builder in the provenance of a release that is not signed, since equal builds have equal
// files. The person or machine that signs the release knows the builder.
const anyBuilder = "https://varve.dev/builders/any"

// signedProvenance writes the provenance with the URI of its builder to a temporary file.
func signedProvenance(dir, builder string) (file string, err error) {
	data, err := os.ReadFile(filepath.Join(dir, provenanceFile))
	if err != nil {
		return "", err
	}
	var p provenance
	if err := json.Unmarshal(data, &p); err != nil {
		return "", fmt.Errorf("reading %s: %w", provenanceFile, err)
	}
	p.RunDetails.Builder.ID = builder
	if data, err = json.Marshal(p); err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", provenanceFile)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	return f.Name(), errors.Join(err, f.Close())
}

// provenance writes which commit, Go version and settings the release was built from.
// The modules are in the SBOMs; go.sum of the commit pins them.
func (b *build) provenance() error {
	var p provenance
	p.BuildDefinition.BuildType = "https://varve.dev/release/v1"
	p.BuildDefinition.ExternalParameters = map[string]string{
		"version": b.version, "architectures": strings.Join(b.arches, ","), "command": "make release VERSION=" + b.version,
	}
	p.BuildDefinition.ResolvedDependencies = []dependency{
		{URI: "git+https://varve.dev/varve@" + b.version, Digest: map[string]string{"gitCommit": b.revision}},
		{URI: "pkg:generic/go@" + strings.TrimPrefix(runtime.Version(), "go")},
	}
	p.RunDetails.Builder.ID = anyBuilder
	p.RunDetails.Metadata.InvocationID = b.revision
	p.RunDetails.Metadata.StartedOn = b.created.Format(time.RFC3339)
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.dir, provenanceFile), append(data, '\n'), 0o644)
}

// writeSums writes the SHA-256 sums of all files of a release, in the form of sha256sum.
func writeSums(dir string) error {
	sums, err := sumsOf(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, sumsFile), sums, 0o644)
}

// sumsOf returns the sums of the files of a release in the order of their names, without the sums
// themselves and without signatures.
func sumsOf(dir string) ([]byte, error) {
	var lines strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name == signaturesDir:
			return filepath.SkipDir
		case entry.IsDir() || name == sumsFile || name == signatureFile:
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		lines.WriteString(hex.EncodeToString(sum[:]) + "  " + filepath.ToSlash(name) + "\n")
		return nil
	})
	return []byte(lines.String()), err
}
