// Command apiref writes the reference of the custom resources:
//
//	config/crd/*.yaml ──▶ kinds (fields, defaults, limits, rules) ──▶ docs/reference/api.md
//
// It reads the definitions that the API server enforces, so that the reference
// can not say anything else. Fields of Kubernetes' own types, whose definition
// is copied into ours, are one row with a link.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	crds := flag.String("crds", "config/crd", "directory of the definitions")
	out := flag.String("out", "docs/reference/api.md", "file to write")
	flag.Parse()
	if err := run(*crds, *out); err != nil {
		fmt.Fprintln(os.Stderr, "apiref:", err)
		os.Exit(1)
	}
}

const intro = `# API reference

<!-- From config/crd, by hack/apiref: do not edit. -->

The custom resources of the group ` + "`varve.dev`, version `v1alpha1`" + `. ` + "`kubectl explain archivegroup.spec`" + ` shows the same
texts. Where a field has no default, leaving it out means what its text says.

The API server refuses what breaks a limit or a rule, with the message given here.
`

func run(dir, out string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	var kinds []*kind
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for i := range crd.Spec.Versions {
			kinds = append(kinds, newKind(&crd, &crd.Spec.Versions[i]))
		}
	}
	var b bytes.Buffer
	b.WriteString(intro)
	contents(&b, kinds)
	for _, k := range kinds {
		k.write(&b)
	}
	b.WriteString(durations)
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}

func contents(b *bytes.Buffer, kinds []*kind) {
	b.WriteString("\n")
	for _, k := range kinds {
		fmt.Fprintf(b, "- [%s](#%s)", k.name, k.sections[0].anchor())
		sep := ": "
		for _, f := range k.sections[0].fields {
			fmt.Fprintf(b, "%s[%s](#%s)", sep, f.name, f.section.anchor())
			sep = ", "
		}
		b.WriteString("\n")
	}
	b.WriteString("- [Durations](#durations)\n")
}

const durations = `
## Durations

A duration is a number and a unit: ` + "`ms`, `s`, `m`, `h`, `d`, `w` or `y`" + `, which is 365 days. It has one unit and no fraction:
` + "`90m`, not `1h30m` or `1.5h`" + `. The longest is 199y.
`
