// Command charts generates files of the Helm charts:
//
//	charts/NAME/values.yaml ──┬─▶ charts/NAME/values.schema.json
//	CRDs ─────────────────────┴─▶ charts/NAME/README.md, between its markers
//	config/rbac/role.yaml ──────▶ charts/varve-operator/templates/_rules.tpl
//	cass-operator's module ─────▶ charts/varve-operator/charts/cass-operator/templates/crds, _rules.tpl, _images.tpl
//
// In values.yaml the comment above a key describes the value. A line such as
//
//	# @schema {minimum: 1}
//
// adds to the schema that follows from the default value. The schema is strict: it rejects keys
// that values.yaml does not have.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail if a file is out of date")
	root := flag.String("root", ".", "top folder of the repository")
	module := flag.String("cass-operator", "", "folder of cass-operator's Go module")
	flag.Parse()
	if err := run(*root, *module, *check); err != nil {
		fmt.Fprintln(os.Stderr, "charts:", err)
		os.Exit(1)
	}
}

func run(root, module string, check bool) error {
	out := map[string][]byte{}
	operator := filepath.Join(root, "charts/varve-operator")
	crds, err := readCRDs(filepath.Join(operator, "files/crds"))
	if err != nil {
		return err
	}
	rules, err := readRules(filepath.Join(root, "config/rbac/role.yaml"))
	if err != nil {
		return err
	}
	out[filepath.Join(operator, "templates/_rules.tpl")] = rules
	cass := filepath.Join(root, "charts/varve-operator/charts/cass-operator")
	if err := cassOperatorFiles(cass, module, out); err != nil {
		return err
	}
	for _, chart := range []string{operator, filepath.Join(root, "charts/varve"), cass} {
		if err := addValues(chart, crds, out); err != nil {
			return fmt.Errorf("reading the values of %s: %w", chart, err)
		}
	}
	return write(out, check)
}

// addValues adds to out the schema of a chart's values, and its README with their table.
func addValues(chart string, crds []crd, out map[string][]byte) error {
	values, err := readValues(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return err
	}
	schema, err := valuesSchema(values, crds)
	if err != nil {
		return err
	}
	out[filepath.Join(chart, "values.schema.json")] = schema
	readme := filepath.Join(chart, "README.md")
	text, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	if out[readme], err = withTable(text, values); err != nil {
		return fmt.Errorf("writing README.md: %w", err)
	}
	return nil
}

// write writes the files that changed. With check, it reports them instead.
func write(out map[string][]byte, check bool) error {
	stale := 0
	for name, text := range out {
		old, err := os.ReadFile(name)
		if err == nil && bytes.Equal(old, text) {
			continue
		}
		stale++
		if check {
			fmt.Fprintln(os.Stderr, "out of date:", name)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	if check && stale > 0 {
		return fmt.Errorf("%d files are out of date: run hack/charts.sh", stale)
	}
	return nil
}
