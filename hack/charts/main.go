// Command charts writes those files of the Helm charts that follow from others:
//
//	charts/NAME/values.yaml ──┬─▶ charts/NAME/values.schema.json
//	config/crd ───────────────┤   charts/NAME/README.md, between its markers
//	                          └─▶ charts/varve-operator/templates/crds
//	config/rbac/role.yaml ──────▶ charts/varve-operator/templates/_rules.tpl
//	cass-operator's module ─────▶ charts/varve-operator/charts/cass-operator/templates/crds, _rules.tpl, _images.tpl
//
// In values.yaml the comment above a key says what it means, and a line
//
//	# @schema {minimum: 1}
//
// adds to the schema that follows from its default. The schema is strict: keys
// that values.yaml does not have are refused.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	check := flag.Bool("check", false, "write nothing, and fail if a file is out of date")
	root := flag.String("root", ".", "top of the repository")
	module := flag.String("cass-operator", "", "folder of cass-operator's module")
	flag.Parse()
	if err := run(*root, *module, *check); err != nil {
		fmt.Fprintln(os.Stderr, "charts:", err)
		os.Exit(1)
	}
}

func run(root, module string, check bool) error {
	out := map[string][]byte{}
	crds, err := readCRDs(filepath.Join(root, "config/crd"))
	if err != nil {
		return err
	}
	operator := filepath.Join(root, "charts/varve-operator")
	for _, c := range crds {
		out[filepath.Join(operator, "templates/crds", c.file)] = definition(c.text, "varve-operator", "config/crd")
	}
	rules, err := readRules(filepath.Join(root, "config/rbac/role.yaml"))
	if err != nil {
		return err
	}
	out[filepath.Join(operator, "templates/_rules.tpl")] = rules
	cass := filepath.Join(root, "charts/varve-operator/charts/cass-operator")
	if err := cassOperator(cass, module, out); err != nil {
		return err
	}
	for _, chart := range []string{operator, filepath.Join(root, "charts/varve"), cass} {
		if err := describe(chart, crds, out); err != nil {
			return fmt.Errorf("%s: %w", chart, err)
		}
	}
	return write(out, check)
}

// describe makes the schema and the table of values of a chart.
func describe(chart string, crds []crd, out map[string][]byte) error {
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
		return fmt.Errorf("README.md: %w", err)
	}
	return nil
}

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
