package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/groups/manifest/manifesttest"
)

// TestSchemasAgreeWithTheAPIServer checks that an editor accepts every valid manifest, and marks what is wrong in a
// manifest unless only a rule of the CRD finds it.
func TestSchemasAgreeWithTheAPIServer(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir); err != nil {
		t.Fatal(err)
	}
	compiled, err := jsonschema.NewCompiler().Compile(filepath.Join(dir, "varve.json"))
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, c := range manifesttest.All() {
		text, err := yaml.YAMLToJSONStrict([]byte(c.Manifest))
		if err != nil {
			continue // no value of JSON, such as NaN
		}
		obj, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		err = compiled.Validate(obj)
		if err != nil {
			refused++
		}
		if c.Want == "" && err != nil {
			t.Errorf("the schema refuses a valid manifest: %s\n%v", c.Manifest, err)
		}
		for _, kind := range []string{"unknown field", "Unsupported value", "must be of type", "in body should"} {
			if err == nil && strings.Contains(c.Want, kind) {
				t.Errorf("the schema accepts a manifest with %q: %s", c.Want, c.Manifest)
			}
		}
	}
	if refused < 80 {
		t.Errorf("the schema refuses only %d manifests", refused)
	}
}

// TestSchemasExplainRules checks that an editor shows the rules that it cannot check.
func TestSchemasExplainRules(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir); err != nil {
		t.Fatal(err)
	}
	compiled, err := jsonschema.NewCompiler().Compile(filepath.Join(dir, "archivegroup_v1alpha1.json"))
	if err != nil {
		t.Fatal(err)
	}
	sampling := compiled.Properties["spec"].Properties["sampling"].Description
	if !strings.Contains(sampling, "\nRules:\n") || !strings.Contains(sampling, "- period is required for mode Scan") {
		t.Errorf("the description of spec.sampling is %q", sampling)
	}
}
