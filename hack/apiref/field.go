package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// write writes the fields of the section as a table, then its rules.
func (s *section) write(b *bytes.Buffer) {
	if len(s.fields) > 0 {
		b.WriteString("| field | type | meaning |\n|---|---|---|\n")
	}
	for _, f := range s.fields {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.name, f.typeName(), f.meaning())
	}
	rules := ruleMessages(s.schema)
	if s.schema.MinProperties != nil && s.schema.MaxProperties != nil && *s.schema.MinProperties == *s.schema.MaxProperties {
		rules = append(rules, fmt.Sprintf("exactly %d of the fields must be set", *s.schema.MinProperties))
	}
	if len(rules) > 0 {
		b.WriteString("\nRules:\n\n")
		for _, r := range rules {
			fmt.Fprintf(b, "- %s\n", r)
		}
	}
}

// typeName returns the type of a field, with a link to its description.
func (f *field) typeName() string {
	if link := kubernetesType(f.name); link != "" {
		if list, ok := strings.CutPrefix(link, "[]"); ok {
			return "list of [" + list
		}
		return "[" + link
	}
	return typeOf(f.schema, f.section)
}

// typeOf returns the name of a schema's type. sec is the section of an object, and otherwise nil.
func typeOf(s *schema, sec *section) string {
	switch {
	case s.XIntOrString:
		return "[quantity](" + kubernetes + "common-definitions/quantity/)"
	case isDuration(s):
		return "[duration](#durations)"
	case s.Type == "array":
		return "list of " + typeOf(s.Items.Schema, sec)
	case sec != nil:
		return "[object](#" + sec.anchor() + ")"
	case s.Type == "object" && s.AdditionalProperties != nil:
		return "map of " + typeOf(s.AdditionalProperties.Schema, nil)
	case s.Format == "date-time":
		return "time"
	case s.Type == "object":
		return "empty object, `{}`"
	}
	return s.Type
}

// meaning returns the description of a field, then its limits, rules and default.
func (f *field) meaning() string {
	parts := []string{paragraph(f.schema.Description)}
	if f.section != nil && f.section.from == f && f.schema.Type == "object" { // the section has the whole text
		first, _, _ := strings.Cut(parts[0], ". ")
		parts[0] = strings.TrimSuffix(first, ".") + "."
	}
	if f.required {
		parts = append([]string{"**Required.**"}, parts...)
	}
	parts = append(parts, limits(f.schema)...)
	if f.section == nil || f.schema.Type == "array" {
		for _, m := range ruleMessages(f.schema) {
			parts = append(parts, "Rule: "+m+".")
		}
	}
	if d := f.schema.Default; d != nil && string(d.Raw) != "{}" {
		parts = append(parts, "Default: "+literal(*d)+".")
	}
	return strings.ReplaceAll(strings.TrimSpace(strings.Join(parts, " ")), "|", `\|`)
}

// limits describes the limits of a schema in words.
func limits(s *schema) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if len(s.Enum) > 0 {
		var names []string
		for _, e := range s.Enum {
			names = append(names, literal(e))
		}
		add("One of %s.", strings.Join(names, ", "))
	}
	if r := rangeOf(s); r != "" {
		add("%s.", r)
	}
	if s.MaxLength != nil && !isDuration(s) {
		add("At most %d characters.", *s.MaxLength)
	}
	if s.MaxItems != nil {
		add("At most %d items.", *s.MaxItems)
	}
	if s.Pattern != "" && !s.XIntOrString && !isDuration(s) {
		add("Matches `%s`.", s.Pattern)
	}
	if s.Type == "array" && object(s) == nil {
		for _, l := range limits(s.Items.Schema) {
			add("Each: %s", strings.ToLower(l[:1])+l[1:])
		}
	}
	return out
}

// rangeOf describes the minimum and maximum of a number in words.
func rangeOf(s *schema) string {
	switch {
	case s.Minimum != nil && s.Maximum != nil && s.ExclusiveMaximum:
		return "From " + number(*s.Minimum) + " to below " + number(*s.Maximum)
	case s.Minimum != nil && s.Maximum != nil:
		return "From " + number(*s.Minimum) + " to " + number(*s.Maximum)
	case s.Minimum != nil:
		return "At least " + number(*s.Minimum)
	}
	return ""
}

// isDuration reports whether a schema has the pattern of durations.
func isDuration(s *schema) bool { return s.Pattern == "^[0-9]+(ms|s|m|h|d|w|y)$" }

// literal returns a value as code.
func literal(j apiextensionsv1.JSON) string {
	var text string
	if json.Unmarshal(j.Raw, &text) != nil {
		text = string(j.Raw)
	}
	return "`" + text + "`"
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// ruleMessages returns the messages of the CEL rules of a schema.
func ruleMessages(s *schema) []string {
	var out []string
	for _, v := range s.XValidations {
		if strings.HasPrefix(v.Message, "a duration ") {
			continue // the section Durations has it
		}
		m := strings.TrimSuffix(paragraph(v.Message), ".")
		if v.FieldPath != "" && !strings.Contains(m, strings.TrimPrefix(v.FieldPath, ".")) {
			m = "`" + strings.TrimPrefix(v.FieldPath, ".") + "`: " + m
		}
		out = append(out, m)
	}
	return out
}

// paragraph puts a text on one line.
func paragraph(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "<", "&lt;")
}
