package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// allowed has the SPDX identifiers of licenses under which Varve may be given away together with
// its dependencies.
var allowed = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MPL-2.0", "Unlicense", "Zlib"}

// sbom writes the software bill of materials of a program, in CycloneDX's JSON, to NAME.cdx.json:
// https://cyclonedx.org/docs/1.6/json/. cyclonedx-gomod reads the modules from the program itself; the
// npm packages of the web UI are added. A component without an allowed license is an error.
func (b *build) sbom(ctx context.Context, arch string) error {
	program, err := filepath.Abs(b.programName(arch))
	if err != nil {
		return err
	}
	output, err := b.command(ctx, arch, b.tools.sbom, "bin", "-json", "-licenses", "-std", "-noserial",
		"-version", b.version, "-output-version", "1.6", program)
	if err != nil {
		return err
	}
	var bom map[string]any
	if err := json.Unmarshal(output, &bom); err != nil {
		return fmt.Errorf("reading the output of cyclonedx-gomod: %w", err)
	}
	if metadata, ok := bom["metadata"].(map[string]any); ok {
		metadata["timestamp"] = b.created.Format(time.RFC3339)
	}
	packages, err := npmPackages(filepath.Join(b.source, "ui", "package-lock.json"))
	if err != nil {
		return err
	}
	components, _ := bom["components"].([]any)
	components = append(components, packages...)
	correct(components)
	bom["components"] = components
	if err := checkLicenses(components); err != nil {
		return err
	}
	data, err := json.MarshalIndent(bom, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(b.programName(arch)+".cdx.json", append(data, '\n'), 0o644)
}

// correct sets the license of Go's own modules, BSD-3-Clause: cyclonedx-gomod takes it for BSD-Source-Code,
// and finds none for the standard library.
func correct(components []any) {
	for _, c := range components {
		fields, _ := c.(map[string]any)
		if module, _ := fields["name"].(string); module == "std" || strings.HasPrefix(module, "golang.org/x/") {
			delete(fields, "evidence")
			fields["licenses"] = license("BSD-3-Clause")
		}
	}
}

// license returns the field "licenses" of a component.
func license(id string) []any {
	return []any{map[string]any{"license": map[string]any{"id": id}}}
}

// npmPackages returns the packages of a package-lock.json that are not only for development, as
// components of CycloneDX, in the order of their names.
func npmPackages(file string) ([]any, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev              bool
			DevOptional      bool
		}
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	var components []any
	for path, p := range lock.Packages {
		name, ok := strings.CutPrefix(path, "node_modules/")
		if !ok || p.Dev || p.DevOptional {
			continue
		}
		purl := "pkg:npm/" + name + "@" + p.Version
		components = append(components, map[string]any{
			"bom-ref": purl, "type": "library", "name": name, "version": p.Version, "purl": purl,
			"licenses": license(p.License),
		})
	}
	slices.SortFunc(components, func(a, b any) int {
		return strings.Compare(fmt.Sprint(a.(map[string]any)["purl"]), fmt.Sprint(b.(map[string]any)["purl"]))
	})
	return components, nil
}

// checkLicenses returns an error that names the components without an allowed license.
func checkLicenses(components []any) error {
	var refused []string
	for _, c := range components {
		fields, _ := c.(map[string]any)
		if ids := licenseIDs(fields); !slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(allowed, id) }) {
			refused = append(refused, fmt.Sprintf("%v %v (%s)", fields["name"], fields["version"], strings.Join(ids, ", ")))
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("these components have no license of %s: %s", strings.Join(allowed, ", "), strings.Join(refused, "; "))
	}
	return nil
}

// licenseIDs returns the SPDX identifiers of a component: those that it declares, and those found in its files.
func licenseIDs(component map[string]any) (ids []string) {
	lists := []any{component["licenses"]}
	if evidence, ok := component["evidence"].(map[string]any); ok {
		lists = append(lists, evidence["licenses"])
	}
	for _, list := range lists {
		choices, _ := list.([]any)
		for _, choice := range choices {
			c, _ := choice.(map[string]any)
			license, _ := c["license"].(map[string]any)
			if id, ok := license["id"].(string); ok {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
