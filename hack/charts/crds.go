package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// crd is a custom resource definition as controller-gen wrote it.
type crd struct {
	file string
	text []byte
	kind string
	spec apiextensionsv1.JSONSchemaProps // of .spec
}

func readCRDs(dir string) ([]crd, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var out []crd
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var def apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &def); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if n := len(def.Spec.Versions); n != 1 {
			return nil, fmt.Errorf("%s has %d versions: say which one values are checked with", file, n)
		}
		out = append(out, crd{
			file: filepath.Base(file), text: text, kind: def.Spec.Names.Kind,
			spec: def.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"],
		})
	}
	return out, nil
}

// definition makes a CRD part of a release of a chart, so that upgrades change it, which
// stays when the release goes: with the definition, its objects would go.
func definition(text []byte, chart, origin string) []byte {
	text = bytes.TrimPrefix(text, []byte("---\n"))
	text = bytes.ReplaceAll(text, []byte("{{"), []byte(`{{ "{{" }}`))
	text = bytes.Replace(text, []byte("\n  annotations:\n"), fmt.Appendf(nil, `
  labels:
    {{- include "%s.labels" . | nindent 4 }}
  annotations:
    helm.sh/resource-policy: keep
`, chart), 1)
	var out bytes.Buffer
	fmt.Fprintf(&out, "{{- /* From %s, by hack/charts.sh: do not edit. */ -}}\n{{- if .Values.crds.enabled }}\n", origin)
	out.Write(text)
	out.WriteString("{{- end }}\n")
	return out.Bytes()
}
