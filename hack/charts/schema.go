package main

import (
	"encoding/json"
	"fmt"
	"maps"

	"go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// valuesSchema is the JSON schema of values.yaml. Besides JSON Schema's own words,
// @schema has crd, the kind whose .spec a value is (or its members are, with
// crdMap), and without, fields of it that the chart fills in.
func valuesSchema(values []value, crds []crd) ([]byte, error) {
	b := builder{crds: crds, defs: map[string]any{}}
	root, err := b.object(values)
	if err != nil {
		return nil, err
	}
	// Helm gives every chart the values that charts have in common.
	root["properties"].(map[string]any)["global"] = map[string]any{"type": "object"}
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	if len(b.defs) > 0 {
		root["$defs"] = b.defs
	}
	out, err := json.MarshalIndent(root, "", "  ")
	return append(out, '\n'), err
}

type builder struct {
	crds []crd
	defs map[string]any
}

func (b *builder) object(values []value) (map[string]any, error) {
	properties := map[string]any{}
	for _, v := range values {
		s, err := b.value(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.key, err)
		}
		properties[v.key] = s
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}, nil
}

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
			return nil, fmt.Errorf("@schema must give its type")
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

// resolve replaces crd, crdMap and without.
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
			delete(s, "type") // draft 7 looks at nothing beside $ref
			delete(s, "description")
		} else {
			s["additionalProperties"] = map[string]any{"$ref": ref}
		}
	}
	return nil
}

// define adds the schema of a kind's spec, and returns how to refer to it.
func (b *builder) define(kind string, without any) (string, error) {
	for _, c := range b.crds {
		if c.kind != kind {
			continue
		}
		spec := c.spec.DeepCopy()
		// Values files may give parts of it each: the API server checks the whole.
		spec.Required = nil
		fields, _ := without.([]any)
		for _, f := range fields {
			delete(spec.Properties, f.(string))
		}
		b.defs[kind] = strict(spec)
		return "#/$defs/" + kind, nil
	}
	return "", fmt.Errorf("no kind %s in config/crd", kind)
}

// strict is a schema of the API server in words that JSON Schema has too. What
// only the API server knows, such as CEL rules, it checks itself.
func strict(s *apiextensionsv1.JSONSchemaProps) map[string]any {
	out := map[string]any{}
	text, err := json.Marshal(apiextensionsv1.JSONSchemaProps{
		Pattern: s.Pattern, Enum: s.Enum, Minimum: s.Minimum, Maximum: s.Maximum, ExclusiveMaximum: s.ExclusiveMaximum,
		MinLength: s.MinLength, MaxLength: s.MaxLength, MinItems: s.MinItems, MaxItems: s.MaxItems, Required: s.Required,
	})
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic("BUG: a schema is not JSON: " + err.Error())
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
		out["items"] = strict(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		out["additionalProperties"] = strict(s.AdditionalProperties.Schema)
	} else if s.Type == "object" {
		properties := map[string]any{}
		for name, p := range s.Properties {
			properties[name] = strict(&p)
		}
		out["properties"], out["additionalProperties"] = properties, false
	}
	return out
}

// isEmpty reports whether a default is {} or [].
func isEmpty(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode && len(n.Content) == 0 }
