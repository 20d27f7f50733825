package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

var (
	tableStart = []byte("<!-- values: from values.yaml, by hack/charts.sh -->\n")
	tableEnd   = []byte("<!-- end of values -->")
)

// withTable replaces what is between the markers.
func withTable(text []byte, values []value) ([]byte, error) {
	head, rest, ok := bytes.Cut(text, tableStart)
	_, tail, ok2 := bytes.Cut(rest, tableEnd)
	if !ok || !ok2 {
		return nil, errors.New("no markers of the table of values")
	}
	var out bytes.Buffer
	out.Write(head)
	out.Write(tableStart)
	out.WriteString("\n| value | default | meaning |\n|---|---|---|\n")
	rows(&out, values, "")
	out.WriteString("\n")
	out.Write(tableEnd)
	out.Write(tail)
	return out.Bytes(), nil
}

func rows(out *bytes.Buffer, values []value, prefix string) {
	for _, v := range values {
		if v.children != nil {
			rows(out, v.children, prefix+v.key+".")
			continue
		}
		fmt.Fprintf(out, "| `%s%s` | `%s` | %s%s |\n", prefix, v.key, inline(v.node), cell(v.text), allowed(v.schema))
	}
}

// allowed names the values that a schema lists.
func allowed(schema map[string]any) string {
	list, _ := schema["enum"].([]any)
	var names []string
	for _, x := range list {
		if x != "" && x != nil {
			names = append(names, fmt.Sprintf("`%v`", x))
		}
	}
	if names == nil {
		return ""
	}
	return " One of " + strings.Join(names, ", ") + "."
}

// inline is a default in one line, as JSON.
func inline(n *yaml.Node) string {
	if isEmpty(n) {
		return map[yaml.Kind]string{yaml.MappingNode: "{}", yaml.SequenceNode: "[]"}[n.Kind]
	}
	var v any
	if err := n.Decode(&v); err != nil {
		panic("BUG: a node that was read can not be decoded: " + err.Error())
	}
	text, err := json.Marshal(v)
	if err != nil {
		return n.Value
	}
	return string(text)
}

// cell keeps a text within its cell.
func cell(s string) string { return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(s) }
