package main

import (
	"encoding/json"
	"fmt"
	"maps"

	"go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// valuesSchema returns the JSON schema of values.yaml. The tools that could generate it,
// dadav/helm-schema and losisin/helm-values-schema-json, are not on the Go module proxy. Besides
// the keywords of JSON Schema, a @schema line can have these keywords:
//
//	crd      the value is the .spec of this kind
//	crdMap   each member of the value is the .spec of this kind
//	without  fields of that .spec that the chart fills in
func valuesSchema(values []value, crds []crd) ([]byte, error) {
	b := builder{crds: crds, defs: map[string]any{}}
	root, err := b.object(values)
	if err != nil {
		return nil, err
	}
	// Helm passes global values to every chart.
	root["properties"].(map[string]any)["global"] = map[string]any{"type": "object"}
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	if len(b.defs) > 0 {
		root["$defs"] = b.defs
	}
	out, err := json.MarshalIndent(root, "", "  ")
	return append(out, '\n'), err
}

// builder builds a schema. References go to its defs.
type builder struct {
	crds []crd
	defs map[string]any
}

// object returns the schema of a mapping.
func (b *builder) object(values []value) (map[string]any, error) {
	properties := map[string]any{}
	for _, v := range values {
		s, err := b.value(v)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", v.key, err)
		}
		properties[v.key] = s
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}, nil
}

// value returns the schema of one value.
func (b *builder) value(v value) (map[string]any, error) {
	out := map[string]any{}
	switch {
	case v.children != nil:
		var err error
		if out, err = b.object(v.children); err != nil {
			return nil, err
		}
	case v.schema["type"] != nil || v.schema["oneOf"] != nil:
	default:
		t, ok := jsonTypes[v.node.ShortTag()]
		if !ok {
			return nil, fmt.Errorf("the default has no type: add a @schema line with a type")
		}
		out["type"] = t
	}
	if v.text != "" {
		out["description"] = v.text
	}
	maps.Copy(out, v.schema)
	return out, b.resolve(out)
}

var jsonTypes = map[string]string{
	"!!map": "object", "!!seq": "array", "!!str": "string", "!!int": "integer", "!!float": "number", "!!bool": "boolean",
}

// resolve replaces the keywords crd, crdMap and without.
func (b *builder) resolve(s map[string]any) error {
	for _, word := range []string{"crd", "crdMap"} {
		kind, ok := s[word].(string)
		if !ok {
			continue
		}
		ref, err := b.define(kind, s["without"])
		if err != nil {
			return err
		}
		delete(s, word)
		delete(s, "without")
		if word == "crd" {
			s["$ref"] = ref
			delete(s, "type") // draft 7 ignores keywords next to $ref
			delete(s, "description")
		} else {
			s["additionalProperties"] = map[string]any{"$ref": ref}
		}
	}
	return nil
}

// define adds the schema of a kind's .spec to defs, and returns the reference to it.
func (b *builder) define(kind string, without any) (string, error) {
	for _, c := range b.crds {
		if c.kind != kind {
			continue
		}
		spec := c.spec.DeepCopy()
		// Several values files can each set a part of it. The API server checks the whole.
		spec.Required = nil
		fields, _ := without.([]any)
		for _, f := range fields {
			delete(spec.Properties, f.(string))
		}
		b.defs[kind] = strictSchema(spec)
		return "#/$defs/" + kind, nil
	}
	return "", fmt.Errorf("no kind %s among the CRDs", kind)
}

// strictSchema converts a schema of the API server to JSON Schema, and refuses unknown fields.
// It leaves out what JSON Schema lacks, such as CEL rules: the API server checks those.
func strictSchema(s *apiextensionsv1.JSONSchemaProps) map[string]any {
	out := map[string]any{}
	text, err := json.Marshal(apiextensionsv1.JSONSchemaProps{
		Pattern: s.Pattern, Enum: s.Enum, Minimum: s.Minimum, Maximum: s.Maximum, ExclusiveMaximum: s.ExclusiveMaximum,
		MinLength: s.MinLength, MaxLength: s.MaxLength, MinItems: s.MinItems, MaxItems: s.MaxItems, Required: s.Required,
	})
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic("BUG: converting a schema to JSON: " + err.Error())
	}
	if s.ExclusiveMaximum { // a number since draft 6
		out["exclusiveMaximum"] = out["maximum"]
	}
	switch {
	case s.XIntOrString:
		out["type"] = []string{"integer", "string"}
	case s.Type != "":
		out["type"] = s.Type
	}
	if s.Items != nil && s.Items.Schema != nil {
		out["items"] = strictSchema(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		out["additionalProperties"] = strictSchema(s.AdditionalProperties.Schema)
	} else if s.Type == "object" {
		properties := map[string]any{}
		for name, p := range s.Properties {
			properties[name] = strictSchema(&p)
		}
		out["properties"], out["additionalProperties"] = properties, false
	}
	return out
}

// isEmpty reports whether a node is {} or [].
func isEmpty(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode && len(n.Content) == 0 }
