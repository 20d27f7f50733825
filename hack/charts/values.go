package main

import (
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value is a key of values.yaml.
type value struct {
	key      string
	text     string         // the description
	schema   map[string]any // the @schema line
	node     *yaml.Node     // the default
	children []value        // the keys of a non-empty mapping
}

// readValues reads values.yaml.
func readValues(file string) ([]value, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	values, err := readMapping(doc.Content[0], "")
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return values, nil
}

// readMapping reads the keys of a mapping. The prefix is the path to it, for errors.
func readMapping(node *yaml.Node, prefix string) ([]value, error) {
	var out []value
	for i := 0; i < len(node.Content); i += 2 {
		key, def := node.Content[i], node.Content[i+1]
		path := prefix + key.Value
		v := value{key: key.Value, node: def}
		if err := v.setComment(key.HeadComment); err != nil {
			return nil, fmt.Errorf("reading the comment of %s: %w", path, err)
		}
		if def.Kind == yaml.MappingNode && len(def.Content) > 0 {
			var err error
			if v.children, err = readMapping(def, path+"."); err != nil {
				return nil, err
			}
		} else if v.text == "" {
			return nil, fmt.Errorf("%s has no comment: describe it", path)
		}
		out = append(out, v)
	}
	return out, nil
}

// setComment divides a comment into text and schema.
func (v *value) setComment(comment string) error {
	var text []string
	for line := range strings.Lines(comment) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#"))
		schema, ok := strings.CutPrefix(line, "@schema ")
		if !ok {
			text = append(text, line)
			continue
		}
		if err := yaml.Unmarshal([]byte(schema), &v.schema); err != nil {
			return fmt.Errorf("parsing @schema: %w", err)
		}
	}
	v.text = strings.TrimSpace(strings.Join(text, " "))
	return nil
}
