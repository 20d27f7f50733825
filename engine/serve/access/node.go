package access

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"varve.dev/varve/engine/serve/request"
)

// Bounds of a file.
const (
	maxFile  = 1 << 20 // bytes
	maxList  = 1000    // elements of a list
	maxWords = 256     // bytes of a text
)

// node is a value of a file, with the name of its field.
type node struct {
	field string
	value *yaml.Node
}

// parse parses a document.
func parse(text []byte) (node, error) {
	if len(text) > maxFile {
		return node{}, fmt.Errorf("the file has %d bytes, and may have at most %d", len(text), maxFile)
	}
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil || len(doc.Content) != 1 {
		return node{}, errors.Join(errors.New("the file is not a YAML document with the field access"), err)
	}
	if dec.Decode(&yaml.Node{}) == nil {
		return node{}, errors.New("the file has more than one YAML document")
	}
	return node{"", doc.Content[0]}, nil
}

// errorf returns an error that names the field and its line.
func (n node) errorf(format string, args ...any) error {
	where := n.field
	if where == "" {
		where = "the file"
	}
	return fmt.Errorf("line %d: %s: %w", n.value.Line, where, fmt.Errorf(format, args...))
}

func (n node) child(name string, v *yaml.Node) node {
	if n.field != "" {
		name = n.field + "." + name
	}
	return node{name, v}
}

// fields returns the fields of an object. It refuses unknown ones, with the name of the nearest known
// one, and fields that occur twice.
func (n node) fields(known ...string) (map[string]node, error) {
	if n.value.Kind != yaml.MappingNode {
		return nil, n.errorf("it must be an object with the fields %s", strings.Join(known, ", "))
	}
	all := map[string]node{}
	for i := 0; i+1 < len(n.value.Content); i += 2 {
		key := n.value.Content[i]
		if err := n.checkKey(key, known); err != nil {
			return nil, err
		}
		if _, twice := all[key.Value]; twice {
			return nil, n.child(key.Value, key).errorf("it occurs twice")
		}
		all[key.Value] = n.child(key.Value, n.value.Content[i+1])
	}
	return all, nil
}

func (n node) checkKey(key *yaml.Node, known []string) error {
	near := request.NewNearest(key.Value, 1)
	for _, name := range known {
		if name == key.Value {
			return nil
		}
		near.Add(name)
	}
	field := n.child(fmt.Sprintf("%.50q", key.Value), key)
	if names := near.Names(); len(names) > 0 {
		return field.errorf("there is no such field; is %s meant?", names[0])
	}
	return field.errorf("there is no such field; the fields are %s", strings.Join(known, ", "))
}

// elements returns the elements of a list.
func (n node) elements() ([]node, error) {
	if n.value.Kind != yaml.SequenceNode {
		return nil, n.errorf("it must be a list")
	}
	if len(n.value.Content) > maxList {
		return nil, n.errorf("it has %d elements, and may have at most %d", len(n.value.Content), maxList)
	}
	all := make([]node, len(n.value.Content))
	for i, v := range n.value.Content {
		all[i] = node{fmt.Sprintf("%s[%d]", n.field, i), v}
	}
	return all, nil
}

// text returns a text that is not empty.
func (n node) text() (string, error) {
	v := n.value
	switch {
	case v.Kind != yaml.ScalarNode || v.Tag != "!!str" || v.Value == "":
		return "", n.errorf("it must be a text that is not empty")
	case len(v.Value) > maxWords:
		return "", n.errorf("it has %d bytes, and may have at most %d", len(v.Value), maxWords)
	}
	return v.Value, nil
}

// texts returns a list of texts.
func (n node) texts() (list []string, err error) {
	elements, err := n.elements()
	if err != nil {
		return nil, err
	}
	for _, e := range elements {
		text, err := e.text()
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, nil
}

// duration returns a duration of at most a limit.
func (n node) duration(most time.Duration) (time.Duration, error) {
	text, err := n.text()
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > most {
		return 0, n.errorf("%.50q is not a duration from 0s to %v", text, most)
	}
	return d, nil
}

// setText and setTexts read a field that may be absent.
func setText(fields map[string]node, name string, to *string) (err error) {
	if n, has := fields[name]; has {
		*to, err = n.text()
	}
	return err
}

func setTexts(fields map[string]node, name string, to *[]string) (err error) {
	if n, has := fields[name]; has {
		*to, err = n.texts()
	}
	return err
}
