package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const thingCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.org}
spec:
  group: example.org
  names: {kind: Thing, plural: things, shortNames: [th]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        description: Thing is a thing.
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            description: spec defines the thing. It is required.
            required: [size]
            x-kubernetes-validations:
            - {rule: "true", message: size and part go together}
            properties:
              part:
                type: object
                description: part is a part. It has a name.
                properties:
                  name: {type: string, description: name of the part., maxLength: 5, pattern: "^a|b$"}
              parts:
                type: array
                maxItems: 3
                description: parts are more of them.
                items:
                  type: object
                  properties:
                    name: {type: string, description: name of the part., maxLength: 5, pattern: "^a|b$"}
              size: {type: integer, description: size in m., minimum: 1, maximum: 9, default: 2}
              op: {type: string, description: op compares., enum: ["<", ">"]}
              wait: {type: string, description: wait so long., pattern: "^[0-9]+(ms|s|m|h|d|w|y)$"}
`

const reference = `
- [Thing](#thing): [spec](#thing-spec)
- [Durations](#durations)

## Thing

Thing is a thing.

` + "`kubectl get things` or `kubectl get th`" + ` shows:

| column | from | meaning |
|---|---|---|
| SIZE | ` + "`.spec.size`" + ` | (with ` + "`-o wide`" + `) |

| field | type | meaning |
|---|---|---|
| ` + "`spec`" + ` | [object](#thing-spec) | spec defines the thing. |

### Thing spec

spec defines the thing. It is required.

| field | type | meaning |
|---|---|---|
| ` + "`size` | integer | **Required.** size in m. From 1 to 9. Default: `2`." + ` |
| ` + "`op` | string | op compares. One of `<`, `>`." + ` |
| ` + "`part`" + ` | [object](#thing-specpart) | part is a part. |
| ` + "`parts`" + ` | list of [object](#thing-specpart) | parts are more of them. At most 3 items. |
| ` + "`wait`" + ` | [duration](#durations) | wait so long. |

Rules:

- size and part go together

### Thing spec.part

part is a part. It has a name.

| field | type | meaning |
|---|---|---|
| ` + "`name` | string | name of the part. At most 5 characters. Matches `^a\\|b$`." + ` |
`

func TestReferenceHasFieldsLimitsAndRules(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out", "api.md")
	if err := os.WriteFile(filepath.Join(dir, "things.yaml"), []byte(thingCRD), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, out); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(intro+reference+durations, string(got)); d != "" {
		t.Error("-want +got\n" + d)
	}
}
