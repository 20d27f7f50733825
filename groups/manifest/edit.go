package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/equality"
	k8syaml "sigs.k8s.io/yaml"

	"varve.dev/varve/api/v1alpha1"
)

// ErrByHand means that a text is valid, but cannot be edited by a program without changing more than asked.
var ErrByHand = errors.New("edit it by hand")

// SetChannels returns the text of a file in which a group has other channels. name stands for the file in messages. It keeps the
// comments, and all bytes outside of the field spec.channels where it can. It returns an error if the text is invalid, or if the
// result would differ in anything else.
func SetChannels(name string, text []byte, group *v1alpha1.ArchiveGroup) ([]byte, error) {
	before := Parse(name, text)
	if err := before.Err(); err != nil {
		return nil, fmt.Errorf("the file is invalid, correct it first: %w", err)
	}
	old := find(before.Groups, group)
	if old == nil {
		return nil, fmt.Errorf("%s has no ArchiveGroup %s", name, key(group))
	}
	if filepath.Ext(name) == ".json" {
		return nil, fmt.Errorf("%s has JSON, and a program edits only YAML: %w", name, ErrByHand)
	}
	out, err := replaceChannels(text, old, group)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	after := Parse(name, out)
	want := slices.Clone(before.Groups)
	i := slices.IndexFunc(want, func(g v1alpha1.ArchiveGroup) bool { return key(&g) == key(group) })
	want[i] = *old.DeepCopy()
	want[i].Spec.Channels = group.Spec.Channels
	switch err := after.Err(); {
	case err != nil:
		return nil, fmt.Errorf("with these channels, the group would be invalid: %w", err)
	case !equality.Semantic.DeepEqual(after.Groups, want) || !equality.Semantic.DeepEqual(after.ConfigMaps, before.ConfigMaps):
		return nil, fmt.Errorf("%s has a form of YAML that a program cannot edit safely: %w", name, ErrByHand)
	}
	return out, nil
}

func find(all []v1alpha1.ArchiveGroup, group *v1alpha1.ArchiveGroup) *v1alpha1.ArchiveGroup {
	for i := range all {
		if key(&all[i]) == key(group) {
			return &all[i]
		}
	}
	return nil
}

// replaceChannels edits the document of a group.
func replaceChannels(text []byte, old, group *v1alpha1.ArchiveGroup) ([]byte, error) {
	for _, doc := range split(text) {
		obj, err := doc.decode()
		if err != nil || nameOf(obj) != old.Name {
			continue
		}
		if meta, _ := obj["metadata"].(map[string]any); meta["namespace"] != nil && meta["namespace"] != old.Namespace || meta["namespace"] == nil && old.Namespace != "default" {
			continue
		}
		content := doc.text[doc.line-1:] // without the empty lines that split adds
		at := bytes.Index(text, content)
		if at < 0 || bytes.Count(text, content) > 1 {
			return nil, fmt.Errorf("the document of the group cannot be found in the text: %w", ErrByHand)
		}
		edited, err := editDocument(content, old.Spec.Channels, group.Spec.Channels)
		if err != nil {
			return nil, err
		}
		return slices.Concat(text[:at], edited, text[at+len(content):]), nil
	}
	return nil, fmt.Errorf("no document has the ArchiveGroup %s: %w", key(old), ErrByHand)
}

// editDocument edits a document of one group.
func editDocument(content []byte, old, channels []v1alpha1.Channel) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(content, &root); err != nil {
		return nil, yamlError(err)
	}
	if usesAnchors(&root) {
		return nil, fmt.Errorf("the document uses anchors of YAML: %w", ErrByHand)
	}
	top := root.Content[0]
	_, spec := child(top, "spec")
	if spec == nil || spec.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("the document has no mapping spec: %w", ErrByHand)
	}
	if spec.Style&yaml.FlowStyle != 0 || top.Style&yaml.FlowStyle != 0 {
		if err := editList(listIn(spec), old, channels); err != nil {
			return nil, err
		}
		return encode(&root, 0, true)
	}
	r := regionOf(content, top, spec)
	field, err := r.field(content)
	if err != nil {
		return nil, err
	}
	if err := editList(listIn(field), old, channels); err != nil {
		return nil, err
	}
	return r.replace(content, field)
}

// listIn returns the list channels in a mapping. If the mapping has none, it gets one.
func listIn(mapping *yaml.Node) *yaml.Node {
	_, list := child(mapping, "channels")
	if list == nil {
		list = &yaml.Node{}
		mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "channels"}, list)
	}
	if list.Kind != yaml.SequenceNode { // null
		*list = yaml.Node{Kind: yaml.SequenceNode}
	}
	return list
}

func usesAnchors(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.Anchor != "" || slices.ContainsFunc(n.Content, usesAnchors)
}

// editList makes the nodes of old channels those of other ones.
func editList(list *yaml.Node, old, channels []v1alpha1.Channel) error {
	if len(list.Content) != len(old) {
		panic("BUG: the list has another length than the channels that it was decoded to")
	}
	nodes := make(map[string]*yaml.Node, len(old))
	was := make(map[string]*v1alpha1.Channel, len(old))
	for i := range old {
		nodes[old[i].Name], was[old[i].Name] = list.Content[i], &old[i]
	}
	list.Content = nil
	for i := range channels {
		ch := &channels[i]
		now, err := nodeOf(ch)
		if err != nil {
			return err
		}
		if n := nodes[ch.Name]; n != nil {
			if !equality.Semantic.DeepEqual(was[ch.Name], ch) {
				editMapping(n, now)
			}
			now = n
		}
		list.Content = append(list.Content, now)
	}
	if list.Style &^= yaml.FlowStyle; len(list.Content) == 0 {
		list.Style = yaml.FlowStyle // []
	}
	return nil
}

// nodeOf returns the node of a channel, in one line.
func nodeOf(ch *v1alpha1.Channel) (*yaml.Node, error) {
	text, err := k8syaml.Marshal(ch)
	if err != nil {
		return nil, fmt.Errorf("encoding a channel: %w", err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("encoding a channel: %w", err)
	}
	n := root.Content[0]
	n.Style = yaml.FlowStyle
	// The name comes first, as people write it.
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "name" {
			name := slices.Clone(n.Content[i : i+2])
			n.Content = append(name, slices.Delete(n.Content, i, i+2)...)
			break
		}
	}
	return n, nil
}

// editMapping gives a mapping the fields of another one. It keeps the order and the comments of fields that stay, and nodes of
// equal values.
func editMapping(n, now *yaml.Node) {
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		_, value := child(now, k.Value)
		switch {
		case value == nil:
			continue
		case sameText(v, value):
		default:
			v = value
		}
		kept = append(kept, k, v)
	}
	for i := 0; i+1 < len(now.Content); i += 2 {
		if !slices.ContainsFunc(kept, func(k *yaml.Node) bool { return k.Value == now.Content[i].Value && k.Kind == yaml.ScalarNode }) {
			kept = append(kept, now.Content[i], now.Content[i+1])
		}
	}
	n.Content = kept
}

// sameText reports whether two nodes have the same value in the same order.
func sameText(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && slices.EqualFunc(a.Content, b.Content, sameText)
}

// region is the lines of the field spec.channels, from begin to before end, counted from 0. They are equal if the field is
// missing.
type region struct {
	begin, end int
	indent     int // of the field
	compact    bool
}

// regionOf returns the lines of spec.channels, or where it would be: at the end of spec.
func regionOf(content []byte, top, spec *yaml.Node) region {
	lines := strings.Split(string(content), "\n")
	end := len(lines)
	if after := nextKey(top, "spec"); after != nil {
		end = after.Line - 1
	}
	r := region{indent: spec.Column - 1, compact: true}
	last := func(end int) int { // the line after the last one with content, before end
		for end > 0 && isBlank(lines[end-1]) {
			end--
		}
		return end
	}
	_, list := child(spec, "channels")
	if list == nil {
		r.begin = last(end)
		r.end = r.begin
		return r
	}
	if after := nextKey(spec, "channels"); after != nil {
		end = after.Line - 1
	}
	i := slices.IndexFunc(spec.Content, func(n *yaml.Node) bool { return n.Value == "channels" })
	r.begin, r.end = spec.Content[i].Line-1, last(end)
	r.compact = list.Style&yaml.FlowStyle != 0 || list.Column-1 == r.indent
	return r
}

func isBlank(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// nextKey returns the key after another one in a mapping, or nil.
func nextKey(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; i+3 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+2]
		}
	}
	return nil
}

// field returns a mapping with the field of the region alone. Comments outside of the region do not belong to it.
func (r region) field(content []byte) (*yaml.Node, error) {
	lines := strings.SplitAfter(string(content), "\n")
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(strings.Join(lines[r.begin:r.end], "")), &root); err != nil {
		return nil, yamlError(err)
	}
	if len(root.Content) == 0 {
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	}
	return root.Content[0], nil
}

// replace replaces the region by another field.
func (r region) replace(content []byte, field *yaml.Node) ([]byte, error) {
	text, err := encode(field, r.indent, r.compact)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(content), "\n")
	before := strings.Join(lines[:r.begin], "")
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	return []byte(before + string(text) + strings.Join(lines[r.end:], "")), nil
}

// encode returns the text of a node, indented. If compact, the elements of lists are not indented.
func encode(n *yaml.Node, indent int, compact bool) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if compact {
		e.CompactSeqIndent()
	}
	if err := e.Encode(n); err != nil {
		return nil, fmt.Errorf("encoding the manifest: %w", err)
	}
	if err := e.Close(); err != nil {
		return nil, fmt.Errorf("encoding the manifest: %w", err)
	}
	if indent == 0 {
		return out.Bytes(), nil
	}
	space := strings.Repeat(" ", indent)
	var indented strings.Builder
	for line := range strings.Lines(out.String()) {
		if strings.TrimSpace(line) != "" {
			indented.WriteString(space)
		}
		indented.WriteString(line)
	}
	return []byte(indented.String()), nil
}

// nameOf returns the name of a group. The group may be invalid in any way.
func nameOf(obj map[string]any) string {
	if obj["kind"] != v1alpha1.KindArchiveGroup {
		return ""
	}
	meta, _ := obj["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return name
}
