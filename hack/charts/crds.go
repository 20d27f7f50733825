package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// crd is a CRD as controller-gen wrote it.
type crd struct {
	kind string
	spec apiextensionsv1.JSONSchemaProps // the schema of .spec
}

// readCRDs reads the CRDs in a folder.
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
		var c apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &c); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		if n := len(c.Spec.Versions); n != 1 {
			return nil, fmt.Errorf("%s has %d versions: choose the version that values are checked with", file, n)
		}
		out = append(out, crd{kind: c.Spec.Names.Kind, spec: c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]})
	}
	return out, nil
}

// crdTemplate makes a CRD a template of a chart, so that `helm upgrade` upgrades it. The CRD
// stays when the release is uninstalled, because its objects would be deleted with it.
func crdTemplate(text []byte, chart, origin string) []byte {
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
