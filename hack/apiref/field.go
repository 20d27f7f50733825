package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func (s *section) write(b *bytes.Buffer) {
	if len(s.fields) > 0 {
		b.WriteString("| field | type | meaning |\n|---|---|---|\n")
	}
	for _, f := range s.fields {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.name, f.kind(), f.meaning())
	}
	rules := messages(s.schema)
	if s.schema.MinProperties != nil && s.schema.MaxProperties != nil && *s.schema.MinProperties == *s.schema.MaxProperties {
		rules = append(rules, fmt.Sprintf("exactly %d of the fields is set", *s.schema.MinProperties))
	}
	if len(rules) > 0 {
		b.WriteString("\nRules:\n\n")
		for _, r := range rules {
			fmt.Fprintf(b, "- %s\n", r)
		}
	}
}

// kind is the type of a field, with a link to where it is described.
func (f *field) kind() string {
	if link := foreign(f.name); link != "" {
		if list, ok := strings.CutPrefix(link, "[]"); ok {
			return "list of [" + list
		}
		return "[" + link
	}
	return typeOf(f.schema, f.section)
}

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

// meaning is the text of a field, then what is allowed and its default.
func (f *field) meaning() string {
	parts := []string{paragraph(f.schema.Description)}
	if f.section != nil && f.section.from == f && f.schema.Type == "object" { // the whole text stands there
		first, _, _ := strings.Cut(parts[0], ". ")
		parts[0] = strings.TrimSuffix(first, ".") + "."
	}
	if f.required {
		parts = append([]string{"**Required.**"}, parts...)
	}
	parts = append(parts, limits(f.schema)...)
	if f.section == nil || f.schema.Type == "array" {
		for _, m := range messages(f.schema) {
			parts = append(parts, "Rule: "+m+".")
		}
	}
	if d := f.schema.Default; d != nil && string(d.Raw) != "{}" {
		parts = append(parts, "Default: "+literal(*d)+".")
	}
	return strings.ReplaceAll(strings.TrimSpace(strings.Join(parts, " ")), "|", `\|`)
}

// limits says in words what the schema allows.
func limits(s *schema) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if len(s.Enum) > 0 {
		var names []string
		for _, e := range s.Enum {
			names = append(names, literal(e))
		}
		say("One of %s.", strings.Join(names, ", "))
	}
	if r := rangeOf(s); r != "" {
		say("%s.", r)
	}
	if s.MaxLength != nil && !isDuration(s) {
		say("At most %d characters.", *s.MaxLength)
	}
	if s.MaxItems != nil {
		say("At most %d items.", *s.MaxItems)
	}
	if s.Pattern != "" && !s.XIntOrString && !isDuration(s) {
		say("Matches `%s`.", s.Pattern)
	}
	if s.Type == "array" && object(s) == nil {
		for _, l := range limits(s.Items.Schema) {
			say("Each: %s", strings.ToLower(l[:1])+l[1:])
		}
	}
	return out
}

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

// isDuration tells by the pattern that all durations have.
func isDuration(s *schema) bool { return s.Pattern == "^[0-9]+(ms|s|m|h|d|w|y)$" }

// literal is a value as YAML may have it.
func literal(j apiextensionsv1.JSON) string {
	var text string
	if json.Unmarshal(j.Raw, &text) != nil {
		text = string(j.Raw)
	}
	return "`" + text + "`"
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// messages are those of the CEL rules.
func messages(s *schema) []string {
	var out []string
	for _, v := range s.XValidations {
		if strings.HasPrefix(v.Message, "a duration ") {
			continue // told once
		}
		m := strings.TrimSuffix(paragraph(v.Message), ".")
		if v.FieldPath != "" && !strings.Contains(m, strings.TrimPrefix(v.FieldPath, ".")) {
			m = "`" + strings.TrimPrefix(v.FieldPath, ".") + "`: " + m
		}
		out = append(out, m)
	}
	return out
}

// paragraph puts a text into one line.
func paragraph(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "<", "&lt;")
}
