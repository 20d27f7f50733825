package main

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type schema = apiextensionsv1.JSONSchemaProps

// kind is a custom resource, divided into sections: first the resource itself, then each object
// within it.
type kind struct {
	name     string
	crd      *apiextensionsv1.CustomResourceDefinition
	version  *apiextensionsv1.CustomResourceDefinitionVersion
	sections []*section
}

// section is an object and its fields.
type section struct {
	kind   string
	path   string // spec.storage.cassandra; empty for the resource
	schema *schema
	from   *field // the first field of this type
	fields []*field
}

// field is a row of a section.
type field struct {
	name     string
	in       *section
	schema   *schema
	required bool
	section  *section // the section of an object or a list of objects
}

// newKind divides one version of a CRD into sections.
func newKind(crd *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) *kind {
	k := &kind{name: crd.Spec.Names.Kind, crd: crd, version: v}
	root := v.Schema.OpenAPIV3Schema.DeepCopy()
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(root.Properties, name)
	}
	top := k.add("", root, nil)
	for _, part := range top { // spec, status
		for queue := []*field{part}; len(queue) > 0; queue = queue[1:] {
			f := queue[0]
			below := strings.TrimPrefix(f.in.path+"."+f.name, ".")
			if f.schema.Type == "array" {
				below += "[]"
			}
			queue = append(queue, k.add(below, object(f.schema), f)...)
		}
	}
	return k
}

// add adds the section of an object, and returns the fields that are objects themselves. If an
// earlier section has the same fields, add uses that section.
func (k *kind) add(path string, s *schema, from *field) []*field {
	for _, other := range k.sections {
		if reflect.DeepEqual(other.schema.Properties, s.Properties) {
			from.section = other
			return nil
		}
	}
	sec := &section{kind: k.name, path: path, schema: s, from: from}
	k.sections = append(k.sections, sec)
	if from != nil {
		from.section = sec
	}
	var objects []*field
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		f := &field{name: name, in: sec, schema: &p, required: slices.Contains(s.Required, name)}
		sec.fields = append(sec.fields, f)
		if inner := object(&p); inner != nil && len(inner.Properties) > 0 && kubernetesType(name) == "" {
			objects = append(objects, f)
		}
	}
	// Required fields come first.
	slices.SortStableFunc(sec.fields, func(a, b *field) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	return objects
}

// object returns the schema of an object, or of the objects of a list.
func object(s *schema) *schema {
	switch {
	case s.Type == "object":
		return s
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil && s.Items.Schema.Type == "object":
		return s.Items.Schema
	}
	return nil
}

const kubernetes = "https://kubernetes.io/docs/reference/kubernetes-api/"

// kubernetesType returns the link to a field's type if it is a Kubernetes type.
func kubernetesType(name string) string {
	return map[string]string{
		"conditions":       "[]Condition](https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Condition)",
		"resources":        "ResourceRequirements](" + kubernetes + "workload-resources/pod-v1/#resources)",
		"tolerations":      "[]Toleration](" + kubernetes + "workload-resources/pod-v1/#scheduling)",
		"imagePullSecrets": "[]LocalObjectReference](" + kubernetes + "common-definitions/local-object-reference/)",
	}[name]
}

// title returns the heading of the section.
func (s *section) title() string {
	if s.path == "" {
		return s.kind
	}
	return s.kind + " " + s.path
}

// anchor returns the anchor that GitHub gives to the heading of the section.
func (s *section) anchor() string {
	drop := strings.NewReplacer(".", "", "[]", "", " ", "-")
	return drop.Replace(strings.ToLower(s.title()))
}

// write writes all sections of the kind.
func (k *kind) write(b *bytes.Buffer) {
	for _, s := range k.sections {
		level := "###"
		if s.path == "" {
			level = "##"
		}
		fmt.Fprintf(b, "\n%s %s\n\n", level, s.title())
		if s.schema.Description != "" {
			fmt.Fprintf(b, "%s\n\n", paragraph(s.schema.Description))
		}
		if s.path == "" {
			k.writeNames(b)
		}
		s.write(b)
	}
}

// writeNames writes the kind's names, printer columns and scale subresource for kubectl.
func (k *kind) writeNames(b *bytes.Buffer) {
	names := k.crd.Spec.Names
	fmt.Fprintf(b, "`kubectl get %s`", names.Plural)
	for _, short := range names.ShortNames {
		fmt.Fprintf(b, " or `kubectl get %s`", short)
	}
	b.WriteString(" shows:\n\n| column | from | meaning |\n|---|---|---|\n")
	for _, c := range k.version.AdditionalPrinterColumns {
		note := c.Description
		if c.Priority > 0 {
			note = strings.TrimSpace(note + " (with `-o wide`)")
		}
		fmt.Fprintf(b, "| %s | `%s` | %s |\n", strings.ToUpper(c.Name), strings.ReplaceAll(c.JSONPath, "|", `\|`), note)
	}
	if sub := k.version.Subresources; sub != nil && sub.Scale != nil {
		fmt.Fprintf(b, "\n`kubectl scale` sets `%s`.\n", strings.TrimPrefix(sub.Scale.SpecReplicasPath, "."))
	}
	b.WriteString("\n")
}
