package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parse(t *testing.T, values string) []value {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := readValues(file)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const exampleValues = `# Of the file.

# How many
# there are.
# @schema {minimum: 1}
replicas: 2
log:
  # What is logged, as A|B.
  # @schema {enum: [info, debug]}
  level: info
# Anything.
labels: {}
`

func TestSchemaIsDerivedFromValues(t *testing.T) {
	text, err := valuesSchema(parse(t, exampleValues), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	object := func(properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	}
	want := object(map[string]any{
		"global":   map[string]any{"type": "object"},
		"replicas": map[string]any{"type": "integer", "minimum": 1.0, "description": "How many there are."},
		"log": object(map[string]any{"level": map[string]any{
			"type": "string", "enum": []any{"info", "debug"}, "description": "What is logged, as A|B."}}),
		"labels": map[string]any{"type": "object", "description": "Anything."},
	})
	want["$schema"] = got["$schema"]
	if d := cmp.Diff(want, got); d != "" {
		t.Error("-want +got\n" + d)
	}
}

func TestTableIsDerivedFromValues(t *testing.T) {
	before := "# Chart\n" + string(tableStart) + "old\n" + string(tableEnd) + "\nend\n"
	got, err := withTable([]byte(before), parse(t, exampleValues))
	if err != nil {
		t.Fatal(err)
	}
	want := "# Chart\n" + string(tableStart) + `
| value | default | meaning |
|---|---|---|
| ` + "`replicas` | `2`" + ` | How many there are. |
| ` + "`log.level` | `\"info\"`" + ` | What is logged, as A\|B. One of ` + "`info`, `debug`" + `. |
| ` + "`labels` | `{}`" + ` | Anything. |

` + string(tableEnd) + "\nend\n"
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error("-want +got\n" + d)
	}
}

func TestValueWithoutCommentIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte("a:\n  b: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readValues(file); err == nil || !strings.Contains(err.Error(), "a.b has no comment") {
		t.Error(err)
	}
}

// The schema of a spec is the API server's schema with two differences: it lacks the fields that
// the chart adds, and it requires no field, because another values file may set it.
func TestSchemaOfSpec(t *testing.T) {
	crds, err := readCRDs("../../charts/varve-operator/files/crds")
	if err != nil {
		t.Fatal(err)
	}
	b := builder{crds: crds, defs: map[string]any{}}
	ref, err := b.define("ArchiveGroup", []any{"archiverRef"})
	if err != nil {
		t.Fatal(err)
	}
	if ref != "#/$defs/ArchiveGroup" {
		t.Error(ref)
	}
	group := b.defs["ArchiveGroup"].(map[string]any)
	properties := group["properties"].(map[string]any)
	if group["additionalProperties"] != false || group["required"] != nil || properties["archiverRef"] != nil {
		t.Errorf("%v", group)
	}
	channel := properties["channels"].(map[string]any)["items"].(map[string]any)
	if d := cmp.Diff([]any{"name"}, channel["required"]); d != "" {
		t.Error(d)
	}
	if _, err := b.define("Nothing", nil); err == nil {
		t.Error("define found a kind that does not exist")
	}
}

func TestCRDBecomesTemplate(t *testing.T) {
	text := []byte("---\nmetadata:\n  annotations:\n    a: b\n  name: x\nspec: {description: 'a {{b}}'}\n")
	got := string(crdTemplate(text, "cass-operator", "its module"))
	for _, want := range []string{
		"{{- if .Values.crds.enabled }}\nmetadata:\n",
		"  annotations:\n    helm.sh/resource-policy: keep\n    a: b\n",
		"{{- /* From its module, by hack/charts.sh: do not edit. */ -}}\n",
		`'a {{ "{{" }}b}}'`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the template lacks %q:\n%s", want, got)
		}
	}
}

func TestRulesAreDividedByScope(t *testing.T) {
	file := filepath.Join(t.TempDir(), "role.yaml")
	role := `kind: ClusterRole
rules:
- {apiGroups: [""], resources: [nodes, pods], verbs: [list]}
- {apiGroups: [apps], resources: [deployments], verbs: [get]}
`
	if err := os.WriteFile(file, []byte(role), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := readRules(file)
	if err != nil {
		t.Fatal(err)
	}
	namespaced, cluster, _ := strings.Cut(string(text), `{{- define "varve-operator.clusterRules" -}}`)
	if strings.Contains(namespaced, "nodes") || !strings.Contains(namespaced, "pods") || !strings.Contains(namespaced, "deployments") {
		t.Error(namespaced)
	}
	if !strings.Contains(cluster, "nodes") || strings.Contains(cluster, "pods") || strings.Contains(cluster, "deployments") {
		t.Error(cluster)
	}
}

func TestCassandraCRDIsPatchedAndShortened(t *testing.T) {
	write := func(file, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	module := t.TempDir()
	file := filepath.Join(module, "config/crd/bases/a.yaml")
	write(file, `metadata: {name: as.example.org}
spec:
  versions:
  - schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              config: {type: string}
              racks: {description: kept, items: {properties: {name: {description: kept, properties: {deep: {description: dropped}}}}}}
`)
	write(filepath.Join(module, "config/crd/kustomization.yaml"), "patches: [{path: p.yaml, target: {name: as.example.org}}, {path: q.yaml, target: {name: bs.example.org}}]")
	patch := filepath.Join(module, "config/crd/p.yaml")
	write(patch, "- {op: remove, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/config}")
	text, err := cassCRD(module, file)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); strings.Contains(got, "config") || strings.Contains(got, "dropped") || strings.Count(got, "kept") != 2 {
		t.Error(got)
	}
	write(patch, "- {op: remove, path: /spec/versions/0/nothing}")
	if _, err := cassCRD(module, file); err == nil || !strings.Contains(err.Error(), "cannot remove") {
		t.Error("a patch of a missing field: got", err)
	}
}
