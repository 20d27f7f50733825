package summary

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/groups/compile"
	"varve.dev/varve/groups/manifest"
)

// shards is a number of shards for compilations whose shards do not matter.
const shards = 64

// source is the name of the text in messages. They show places in it as lines.
const source = "manifest"

// maxWarnings bounds the warnings about a manifest.
const maxWarnings = 20

// Check checks the manifest of one ArchiveGroup as a cluster does. provider is the default provider of
// the archive.
func Check(text []byte, provider v1alpha1.Provider) overview.Checked {
	out := overview.Checked{Errors: []overview.Finding{}, Warnings: []string{}}
	if err := expands(text); err != nil {
		out.Errors = append(out.Errors, overview.Finding{Error: err.Error()})
		return out
	}
	out.Manifest = canonical(text)
	r := manifest.Parse(source, text)
	for _, err := range r.Errors {
		out.Errors = append(out.Errors, finding(err))
	}
	switch n := len(r.Groups) + len(r.ConfigMaps); {
	case len(out.Errors) > 0:
		return out
	case len(r.Groups) != 1 || n != 1:
		out.Errors = append(out.Errors, overview.Finding{Error: fmt.Sprintf("the text has %d objects, and must have one ArchiveGroup", n)})
		return out
	}
	g := &r.Groups[0]
	for _, w := range r.Warnings {
		out.Warnings = append(out.Warnings, strings.TrimPrefix(w, source+": "))
	}
	checked := *g
	if steps := matchSteps(g); steps > maxSteps {
		checked.Spec.Rules, checked.Spec.Pauses, checked.Spec.Deletions = nil, nil, nil
		out.Warnings = append(out.Warnings, fmt.Sprintf("the check did not apply the rules, pauses and deletions to the PVs, because it would take up to %d steps, and may take %d; varve plan applies them", steps, maxSteps))
	}
	compiled := compile.Compile([]v1alpha1.ArchiveGroup{checked}, nil, compile.Archive{Shards: shards}, time.Now()).Groups[g.Namespace+"/"+g.Name]
	described := Of(g, provider, compiled)
	for _, p := range described.Problems {
		if p.Severity != overview.SeverityInfo && len(out.Warnings) < maxWarnings {
			out.Warnings = append(out.Warnings, strings.TrimSpace(p.PV+" "+p.Text))
		}
	}
	out.Group = &described
	return out
}

// maxSteps bounds the steps that the expressions of a manifest need for the PVs in it, because the text comes from anybody
// who may read the archive. So many steps take about a second. 64 rules of usual length and 1,000 PVs need half as many.
const maxSteps = 100_000_000

// matchSteps returns at most how many steps the expressions of a group need for the PVs in its manifest.
func matchSteps(g *v1alpha1.ArchiveGroup) int {
	bytes := 0
	for i := range g.Spec.Channels {
		bytes += len(g.Spec.Channels[i].Name)
	}
	return bytes * compile.MatchSteps(&g.Spec)
}

// maxDocuments is the number of YAML documents in a manifest. A file often begins with "---".
const maxDocuments = 2

// expands returns an error for a text that could become much larger while it is decoded: one with
// aliases, or with many documents. The text comes from anybody who may read the archive.
func expands(text []byte) error {
	separators := bytes.Count(text, []byte("\n---"))
	if bytes.HasPrefix(text, []byte("---")) {
		separators++
	}
	if separators > maxDocuments {
		return fmt.Errorf("the text has %d lines that begin with ---, and must have one ArchiveGroup", separators)
	}
	for d := yamlv3.NewDecoder(bytes.NewReader(text)); ; {
		var n yamlv3.Node
		if err := d.Decode(&n); err != nil {
			return nil // the end, or an error that the check describes with its line
		}
		if a := alias(&n); a != nil {
			return fmt.Errorf("line %d: aliases such as *%.100s are not accepted here; write the value again", a.Line, a.Value)
		}
	}
}

// alias returns an alias in a node, or nil.
func alias(n *yamlv3.Node) *yamlv3.Node {
	if n.Kind == yamlv3.AliasNode {
		return n
	}
	for _, c := range n.Content {
		if a := alias(c); a != nil {
			return a
		}
	}
	return nil
}

// finding returns where and why a manifest is wrong.
func finding(err error) overview.Finding {
	var at *manifest.Error
	if !errors.As(err, &at) {
		return overview.Finding{Error: err.Error()}
	}
	return overview.Finding{Field: at.Field(), Line: at.Line, Error: at.Err.Error()}
}

// canonical returns an object as YAML. It returns "" if the text is not one object.
func canonical(text []byte) string {
	var obj struct {
		APIVersion string          `json:"apiVersion,omitempty"`
		Kind       string          `json:"kind,omitempty"`
		Metadata   json.RawMessage `json:"metadata,omitempty"`
		Spec       json.RawMessage `json:"spec,omitempty"`
	}
	if err := yaml.UnmarshalStrict(text, &obj); err != nil {
		return ""
	}
	out, err := yaml.Marshal(obj)
	if err != nil {
		return ""
	}
	return string(out)
}
