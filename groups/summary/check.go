package summary

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

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
	out := overview.Checked{Errors: []overview.Finding{}, Warnings: []string{}, Manifest: canonical(text)}
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
	compiled := compile.Compile(r.Groups, nil, compile.Archive{Shards: shards}, time.Now()).Groups[g.Namespace+"/"+g.Name]
	described := Of(g, provider, compiled)
	for _, p := range described.Problems {
		if p.Severity != overview.SeverityInfo && len(out.Warnings) < maxWarnings {
			out.Warnings = append(out.Warnings, strings.TrimSpace(p.PV+" "+p.Text))
		}
	}
	out.Group = &described
	return out
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
