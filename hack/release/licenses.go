package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// npmLicenses has the licenses of the packages that the bundle of the web UI contains, since the
// program is built without npm. TestLicensesOfTheWebUI compares it with ui/package.json.
const npmLicenses = "hack/release/npm"

// licenseFile matches the names of files that a copy of a module must include.
var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// A module is a Go module that a program is built from. The module of the standard library has no path.
type module struct{ Path, Version, Dir string }

// licenses copies the licenses of everything that the programs contain into a new temporary folder:
// MODULE/LICENSE and so on. A module without a license is an error.
func (b *build) licenses(ctx context.Context) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "varve-licenses"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	modules, err := b.modules(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range modules {
		if err := copyLicenses(m.Dir, filepath.Join(dir, m.Path)); err != nil {
			return "", fmt.Errorf("licenses of %s %s: %w", m.Path, m.Version, err)
		}
	}
	return dir, os.CopyFS(filepath.Join(dir, "npm"), os.DirFS(filepath.Join(b.source, npmLicenses)))
}

// modules returns the modules of all programs, each once, and the standard library as the module "go".
func (b *build) modules(ctx context.Context) ([]module, error) {
	byPath := map[string]module{}
	for _, arch := range b.arches {
		output, err := b.command(ctx, arch, "go", "list", "-deps", "-json=Module", "./cmd/varve")
		if err != nil {
			return nil, err
		}
		for d := json.NewDecoder(strings.NewReader(string(output))); ; {
			var p struct{ Module *module }
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("reading the output of go list: %w", err)
			}
			if p.Module != nil {
				byPath[p.Module.Path] = *p.Module
			}
		}
	}
	root, err := b.command(ctx, b.arches[0], "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	modules := []module{{Path: "go", Dir: strings.TrimSpace(string(root))}}
	for _, m := range byPath {
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return modules, nil
}

// copyLicenses copies the license files of the folder from into the folder to.
func copyLicenses(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		if e.IsDir() || !licenseFile.MatchString(e.Name()) {
			continue
		}
		found = true
		data, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()), data, 0o644); err != nil {
			return err
		}
	}
	if !found {
		return errors.New("the module has no license file")
	}
	return nil
}
