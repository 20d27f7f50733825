// Command apiref writes the reference of the custom resources:
//
//	CRDs ──▶ kinds (fields, defaults, limits, rules) ──▶ docs/reference/api.md
//
// It reads the CRDs that the API server enforces, so that the reference cannot differ from them.
// A field of a Kubernetes type is one row with a link.
//
// elastic/crd-ref-docs (v0.3.0) cannot write such a reference: it omits CEL rules, printer columns
// and the scale subresource, and lists limits as raw markers.
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
	crds := flag.String("crds", "charts/varve-operator/files/crds", "folder with the CRDs")
	out := flag.String("out", "docs/reference/api.md", "file to write")
	flag.Parse()
	if err := run(*crds, *out); err != nil {
		fmt.Fprintln(os.Stderr, "apiref:", err)
		os.Exit(1)
	}
}

// intro is the head of the reference.
const intro = `# API reference

<!-- From the CRDs, by hack/apiref: do not edit. -->

The custom resources of the group ` + "`varve.dev`, version `v1alpha1`" + `. ` + "`kubectl explain archivegroup.spec`" + ` shows the same
texts. A field's text says what happens when the field is left out.

The API server rejects an object that violates a limit or a rule, with the message of the rule.
`

// run reads the CRDs in dir and writes the reference to out.
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
			return fmt.Errorf("reading %s: %w", file, err)
		}
		for i := range crd.Spec.Versions {
			kinds = append(kinds, newKind(&crd, &crd.Spec.Versions[i]))
		}
	}
	var b bytes.Buffer
	b.WriteString(intro)
	writeContents(&b, kinds)
	for _, k := range kinds {
		k.write(&b)
	}
	b.WriteString(durations)
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}

// writeContents writes the table of contents.
func writeContents(b *bytes.Buffer, kinds []*kind) {
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

// durations is the last section of the reference.
const durations = `
## Durations

A duration is a number and a unit: ` + "`ms`, `s`, `m`, `h`, `d`, `w` or `y`" + `, which is 365 days. It has one unit and no fraction:
` + "`90m`, not `1h30m` or `1.5h`" + `. The longest is 199y.
`
