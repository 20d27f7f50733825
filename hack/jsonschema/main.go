// Command jsonschema writes JSON Schemas of Varve's kinds for editors and for tools such as kubeconform:
//
//	CRDs ──convert──▶ docs/schemas/varve.dev/KIND_VERSION.json
//	          └─────▶ docs/schemas/varve.dev/varve.json, which selects the schema by the kind
//
// A JSON Schema cannot express the CEL rules of a CRD. Descriptions have their messages instead, and
// varve validate checks them.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/charts"
)

const folder = "docs/schemas/varve.dev"

// draft is the JSON Schema draft that editors support best.
const draft = "http://json-schema.org/draft-07/schema#"

func main() {
	if err := run(folder); err != nil {
		fmt.Fprintln(os.Stderr, "jsonschema:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var choices []any
	for _, crd := range [][]byte{
		charts.ArchiverCRD, charts.ArchiveGroupCRD, charts.ArchivePolicyCRD,
		charts.ArchiveBackupCRD, charts.ArchiveBackupScheduleCRD, charts.ArchiveRestoreCRD,
	} {
		name, kind, s, err := schemaOf(crd)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(dir, name), s); err != nil {
			return err
		}
		choices = append(choices, object{
			"if":   object{"required": []string{"kind"}, "properties": object{"kind": object{"const": kind}}},
			"then": object{"$ref": name},
		})
	}
	return write(filepath.Join(dir, "varve.json"), object{"$schema": draft, "title": "Objects of Varve; other kinds are not checked", "allOf": choices})
}

func write(path string, s object) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(s); err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

type object = map[string]any

// schemaOf returns the schema of a CRD, with the name of its file and its kind.
func schemaOf(text []byte) (name, kind string, s object, err error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return "", "", nil, fmt.Errorf("decoding a CRD: %w", err)
	}
	v := crd.Spec.Versions[0]
	kind = crd.Spec.Names.Kind
	s = convert(v.Schema.OpenAPIV3Schema)
	s["$schema"], s["title"] = draft, kind+" of Varve"
	properties := s["properties"].(object)
	properties["apiVersion"] = object{"const": crd.Spec.Group + "/" + v.Name}
	properties["kind"] = object{"const": kind}
	properties["metadata"] = metadata
	properties["status"] = object{"type": "object", "description": "status is written by Varve."}
	s["required"] = []string{"apiVersion", "kind", "metadata", "spec"}
	return fmt.Sprintf("%s_%s.json", crd.Spec.Names.Singular, v.Name), kind, s, nil
}

// metadata is the schema of the metadata of an object.
var metadata = object{
	"type": "object", "required": []string{"name"}, "additionalProperties": false,
	"properties": object{
		"name":        object{"type": "string", "maxLength": 253, "pattern": `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`},
		"namespace":   object{"type": "string", "maxLength": 63, "pattern": `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`},
		"labels":      object{"type": "object", "additionalProperties": object{"type": "string"}},
		"annotations": object{"type": "object", "additionalProperties": object{"type": "string"}},
		"finalizers":  object{"type": "array", "items": object{"type": "string"}},
		// An API server writes these.
		"ownerReferences": object{"type": "array"}, "managedFields": object{"type": "array"},
		"uid": object{"type": "string"}, "resourceVersion": object{"type": "string"}, "selfLink": object{"type": "string"},
		"generateName": object{"type": "string"}, "generation": object{"type": "integer"},
		"creationTimestamp":          object{"type": []string{"string", "null"}},
		"deletionTimestamp":          object{"type": []string{"string", "null"}},
		"deletionGracePeriodSeconds": object{"type": "integer"},
	},
}

// convert converts a schema of OpenAPI 3.0, as in a CRD.
func convert(s *apiextensionsv1.JSONSchemaProps) object {
	out := object{}
	if text := describe(s); text != "" {
		out["description"] = text
	}
	if s.Type != "" {
		out["type"] = s.Type
		if s.Nullable {
			out["type"] = []string{s.Type, "null"}
		}
	}
	if s.Format != "" {
		out["format"] = s.Format
	}
	if s.Pattern != "" {
		out["pattern"] = s.Pattern
	}
	if s.Default != nil {
		out["default"] = json.RawMessage(s.Default.Raw)
	}
	if len(s.Enum) > 0 {
		out["enum"] = s.Enum
	}
	if len(s.Required) > 0 {
		out["required"] = s.Required
	}
	if s.XListType != nil && *s.XListType == "set" || s.UniqueItems {
		out["uniqueItems"] = true
	}
	addBounds(out, s)
	addParts(out, s)
	return out
}

func addBounds(out object, s *apiextensionsv1.JSONSchemaProps) {
	for name, n := range map[string]*int64{
		"minLength": s.MinLength, "maxLength": s.MaxLength, "minItems": s.MinItems, "maxItems": s.MaxItems,
		"minProperties": s.MinProperties, "maxProperties": s.MaxProperties,
	} {
		if n != nil {
			out[name] = *n
		}
	}
	bound := func(name, exclusive string, value *float64, isExclusive bool) {
		switch {
		case value == nil:
		case isExclusive:
			out[exclusive] = *value
		default:
			out[name] = *value
		}
	}
	bound("minimum", "exclusiveMinimum", s.Minimum, s.ExclusiveMinimum)
	bound("maximum", "exclusiveMaximum", s.Maximum, s.ExclusiveMaximum)
}

// addParts adds the schemas of the parts of a value.
func addParts(out object, s *apiextensionsv1.JSONSchemaProps) {
	if s.Items != nil && s.Items.Schema != nil {
		out["items"] = convert(s.Items.Schema)
	}
	if len(s.Properties) > 0 {
		properties := object{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			p := s.Properties[name]
			properties[name] = convert(&p)
		}
		out["properties"] = properties
	}
	keeps := s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
	switch {
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		out["additionalProperties"] = convert(s.AdditionalProperties.Schema)
	case s.Type == "object" && !keeps:
		out["additionalProperties"] = false
	}
	for name, list := range map[string][]apiextensionsv1.JSONSchemaProps{"anyOf": s.AnyOf, "oneOf": s.OneOf, "allOf": s.AllOf} {
		if len(list) == 0 {
			continue
		}
		var all []any
		for i := range list {
			all = append(all, convert(&list[i]))
		}
		out[name] = all
	}
	if s.XIntOrString && len(s.AnyOf) == 0 {
		out["anyOf"] = []any{object{"type": "integer"}, object{"type": "string"}}
	}
}

// describe returns the description of a value, with the messages of its rules.
func describe(s *apiextensionsv1.JSONSchemaProps) string {
	text := s.Description
	var rules []string
	for _, rule := range s.XValidations {
		if rule.Message != "" {
			rules = append(rules, "- "+rule.Message)
		}
	}
	if len(rules) > 0 {
		text += "\n\nRules:\n" + strings.Join(rules, "\n")
	}
	return strings.TrimSpace(text)
}
