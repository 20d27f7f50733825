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

// withTable replaces the table of values between the markers. norwoodj/helm-docs could write it,
// but does not know the limits that @schema sets.
func withTable(text []byte, values []value) ([]byte, error) {
	head, rest, ok := bytes.Cut(text, tableStart)
	_, tail, ok2 := bytes.Cut(rest, tableEnd)
	if !ok || !ok2 {
		return nil, errors.New("the markers of the table of values are missing")
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

// rows writes a row for each value. The prefix is the path to the values.
func rows(out *bytes.Buffer, values []value, prefix string) {
	for _, v := range values {
		if v.children != nil {
			rows(out, v.children, prefix+v.key+".")
			continue
		}
		fmt.Fprintf(out, "| `%s%s` | `%s` | %s%s |\n", prefix, v.key, inline(v.node), cell(v.text), allowed(v.schema))
	}
}

// allowed returns a sentence that lists the values of an enum.
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

// inline returns a default as JSON on one line.
func inline(n *yaml.Node) string {
	if isEmpty(n) {
		return map[yaml.Kind]string{yaml.MappingNode: "{}", yaml.SequenceNode: "[]"}[n.Kind]
	}
	var v any
	if err := n.Decode(&v); err != nil {
		panic("BUG: decoding a node that was read: " + err.Error())
	}
	text, err := json.Marshal(v)
	if err != nil {
		return n.Value
	}
	return string(text)
}

// cell escapes a text for a cell of a table.
func cell(s string) string { return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(s) }
