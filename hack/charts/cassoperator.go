package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// cassOperatorFiles adds to out the files of the chart cass-operator that are generated from the
// manifests of its Go module: CRDs, RBAC rules and the names of images.
func cassOperatorFiles(chart, module string, out map[string][]byte) error {
	if err := checkVersion(chart, module); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(module, "config/crd/bases/*.yaml"))
	if err == nil && len(files) == 0 {
		err = os.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("finding CRDs in %s: %w", module, err)
	}
	for _, file := range files {
		text, err := cassCRD(module, file)
		if err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		out[filepath.Join(chart, "templates/crds", filepath.Base(file))] =
			crdTemplate(text, "cass-operator", "config/crd of cass-operator's module")
	}
	if out[filepath.Join(chart, "templates/_rules.tpl")], err = cassRules(module); err != nil {
		return err
	}
	out[filepath.Join(chart, "templates/_images.tpl")], err = cassImages(module)
	return err
}

// checkVersion returns an error if the chart and the module have different versions.
func checkVersion(chart, module string) error {
	var c struct{ AppVersion string }
	if err := readYAML(filepath.Join(chart, "Chart.yaml"), &c); err != nil {
		return err
	}
	if _, version, _ := strings.Cut(filepath.Base(module), "@v"); version != c.AppVersion {
		return fmt.Errorf("%s has appVersion %s, but the module is %s", chart, c.AppVersion, filepath.Base(module))
	}
	return nil
}

// cassCRD reads a CRD and patches it. It removes the descriptions of Kubernetes' own types, such
// as parts of a pod: a Helm release holds at most 1 MiB, and it holds each CRD twice.
func cassCRD(module, file string) ([]byte, error) {
	var crd map[string]any
	if err := readYAML(file, &crd); err != nil {
		return nil, err
	}
	if err := patchCRD(module, crd); err != nil {
		return nil, err
	}
	versions := crd["spec"].(map[string]any)["versions"].([]any)
	for _, v := range versions {
		dropDescriptions(v.(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"], 0)
	}
	return yaml.Marshal(crd)
}

// patchCRD applies the patches of the module's config/crd/kustomization.yaml, as Kustomize would.
// They remove fields that the API server would check wrongly, such as config, whose schema says
// bytes.
func patchCRD(module string, crd map[string]any) error {
	dir := filepath.Join(module, "config/crd")
	var kustomization struct {
		Patches []struct {
			Path   string
			Target struct{ Name string }
		}
	}
	if err := readYAML(filepath.Join(dir, "kustomization.yaml"), &kustomization); err != nil {
		return err
	}
	for _, p := range kustomization.Patches {
		if p.Target.Name != crd["metadata"].(map[string]any)["name"] {
			continue
		}
		var operations []struct{ Op, Path string }
		if err := readYAML(filepath.Join(dir, p.Path), &operations); err != nil {
			return err
		}
		for _, o := range operations {
			if o.Op != "remove" || !removeAt(crd, strings.Split(o.Path, "/")[1:]) {
				return fmt.Errorf("applying %s: cannot %s %s", p.Path, o.Op, o.Path)
			}
		}
	}
	return nil
}

// removeAt removes the value at a JSON pointer, and reports whether it existed.
func removeAt(from any, path []string) bool {
	switch f := from.(type) {
	case []any:
		i, err := strconv.Atoi(path[0])
		return err == nil && i < len(f) && len(path) > 1 && removeAt(f[i], path[1:])
	case map[string]any:
		next, ok := f[path[0]]
		if ok && len(path) > 1 {
			return removeAt(next, path[1:])
		}
		delete(f, path[0])
		return ok
	}
	return false
}

func readYAML(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	return nil
}

// describedLevels is the depth down to which fields keep their descriptions: spec.racks.name is
// at depth 3.
const describedLevels = 3

// dropDescriptions removes the descriptions below describedLevels.
func dropDescriptions(schema any, level int) {
	s, ok := schema.(map[string]any)
	if !ok {
		return
	}
	if level > describedLevels {
		delete(s, "description")
	}
	if properties, ok := s["properties"].(map[string]any); ok {
		for _, p := range properties {
			dropDescriptions(p, level+1)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		dropDescriptions(s[key], level)
	}
	for _, key := range []string{"anyOf", "allOf", "oneOf"} {
		list, _ := s[key].([]any)
		for _, p := range list {
			dropDescriptions(p, level)
		}
	}
}

// cassRules returns templates with the operator's RBAC rules: the rules of its Role, and the
// rules on cluster-scoped resources.
func cassRules(module string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(module, "config/rbac/role.yaml"))
	if err != nil {
		return nil, err
	}
	var namespaced, cluster []rbacv1.PolicyRule
	for doc := range strings.SplitSeq(string(text), "---\n") {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := yaml.Unmarshal([]byte(doc), &role); err != nil {
			return nil, fmt.Errorf("reading config/rbac/role.yaml: %w", err)
		}
		if role.Kind == "ClusterRole" {
			cluster = append(cluster, role.Rules...)
		} else {
			namespaced = append(namespaced, role.Rules...)
		}
	}
	var out bytes.Buffer
	out.WriteString("{{- /* From config/rbac of cass-operator's module, by hack/charts.sh: do not edit. */ -}}\n")
	if err := writeTemplate(&out, "cass-operator.rules", namespaced); err != nil {
		return nil, err
	}
	if err := writeTemplate(&out, "cass-operator.clusterRules", cluster); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// cassImages returns a template with the images of the datacenters' pods. It leaves out the
// registry: the chart's values or the nodes set it.
func cassImages(module string) ([]byte, error) {
	var config map[string]any
	if err := readYAML(filepath.Join(module, "config/imageconfig/image_config.yaml"), &config); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(map[string]any{"images": config["images"], "types": config["types"]})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString("{{- /* From config/imageconfig of cass-operator's module, by hack/charts.sh: do not edit. */ -}}\n")
	fmt.Fprintf(&out, "{{- define %q -}}\n%s{{- end }}\n", "cass-operator.images", text)
	return out.Bytes(), nil
}
