package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// lineOf returns the line of a field such as spec.channels[3].sampling. If the document lacks
// the field, it returns the line of the innermost parent that exists.
func (d document) lineOf(path string) int {
	var root yaml.Node
	if err := yaml.Unmarshal(d.text, &root); err != nil || len(root.Content) == 0 {
		return d.line
	}
	node := root.Content[0]
	line := node.Line
	for step := range strings.SplitSeq(strings.ReplaceAll(path, "[", ".["), ".") {
		at, next := child(node, step)
		if next == nil {
			break
		}
		line, node = at, next
	}
	return line
}

// child returns the line and the value of a step in a path: a key, or an index such as "[3]".
// The value is nil if n has no such child.
func child(n *yaml.Node, step string) (line int, value *yaml.Node) {
	if index, ok := strings.CutPrefix(step, "["); ok {
		i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
		if err != nil || n.Kind != yaml.SequenceNode || i >= len(n.Content) {
			return 0, nil
		}
		return n.Content[i].Line, n.Content[i]
	}
	if n.Kind != yaml.MappingNode {
		return 0, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == step {
			return n.Content[i].Line, n.Content[i+1]
		}
	}
	return 0, nil
}
