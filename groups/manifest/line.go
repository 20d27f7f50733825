package manifest

import (
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// place returns the line and the column of a field such as spec.channels[3].sampling, both from 1. If the
// document lacks the field, it returns the place of the innermost parent that exists.
func (d *document) place(path string) (line, column int) {
	if d.root == nil {
		d.root = &yamlv3.Node{}
		if err := yamlv3.Unmarshal(d.text, d.root); err != nil {
			d.root = &yamlv3.Node{}
		}
	}
	if len(d.root.Content) == 0 {
		return d.line, 1
	}
	node := d.root.Content[0]
	at := node
	for step := range strings.SplitSeq(strings.ReplaceAll(path, "[", ".["), ".") {
		if step == "" { // the path of an item of a List begins with its index
			continue
		}
		name, next := child(node, step)
		if next == nil {
			break
		}
		at, node = name, next
	}
	return at.Line, at.Column
}

// child returns the node that names a step in a path, and the node of its value. A step is a key, or an index
// such as "[3]". Both are nil if n has no such child.
func child(n *yamlv3.Node, step string) (name, value *yamlv3.Node) {
	if n.Kind == yamlv3.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	if index, ok := strings.CutPrefix(step, "["); ok {
		i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
		if err != nil || i < 0 || n.Kind != yamlv3.SequenceNode || i >= len(n.Content) {
			return nil, nil
		}
		return n.Content[i], n.Content[i]
	}
	if n.Kind != yamlv3.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == step {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}
