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

// cassOperator writes those files of the chart cass-operator that follow from the
// manifests of its Go module: definitions, rules, and the names of images.
func cassOperator(chart, module string, out map[string][]byte) error {
	if err := sameVersion(chart, module); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(module, "config/crd/bases/*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("%s has no definitions: %w", module, err)
	}
	for _, file := range files {
		text, err := cassDefinition(module, file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		out[filepath.Join(chart, "templates/crds", filepath.Base(file))] =
			definition(text, "cass-operator", "config/crd of cass-operator's module")
	}
	if out[filepath.Join(chart, "templates/_rules.tpl")], err = cassRules(module); err != nil {
		return err
	}
	out[filepath.Join(chart, "templates/_images.tpl")], err = cassImages(module)
	return err
}

// sameVersion fails if the chart is of another version than the module.
func sameVersion(chart, module string) error {
	var c struct{ AppVersion string }
	if err := readYAML(filepath.Join(chart, "Chart.yaml"), &c); err != nil {
		return err
	}
	if _, version, _ := strings.Cut(filepath.Base(module), "@v"); version != c.AppVersion {
		return fmt.Errorf("%s: appVersion is %s, and the module is %s", chart, c.AppVersion, filepath.Base(module))
	}
	return nil
}

// cassDefinition reads a definition with its patches, and without the descriptions of
// what is Kubernetes' own, such as parts of a pod: a release of Helm holds 1 MiB, and it
// holds definitions twice.
func cassDefinition(module, file string) ([]byte, error) {
	var def map[string]any
	if err := readYAML(file, &def); err != nil {
		return nil, err
	}
	if err := patch(module, def); err != nil {
		return nil, err
	}
	versions := def["spec"].(map[string]any)["versions"].([]any)
	for _, v := range versions {
		dropDescriptions(v.(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"], 0)
	}
	return yaml.Marshal(def)
}

// patch does what config/crd/kustomization.yaml does to a definition: it removes what the
// API server could not check rightly, such as a config of which only its bytes are known.
func patch(module string, def map[string]any) error {
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
		if p.Target.Name != def["metadata"].(map[string]any)["name"] {
			continue
		}
		var operations []struct{ Op, Path string }
		if err := readYAML(filepath.Join(dir, p.Path), &operations); err != nil {
			return err
		}
		for _, o := range operations {
			if o.Op != "remove" || !remove(def, strings.Split(o.Path, "/")[1:]) {
				return fmt.Errorf("%s: can not %s %s", p.Path, o.Op, o.Path)
			}
		}
	}
	return nil
}

// remove takes away what a JSON pointer leads to, and says whether it was there.
func remove(from any, path []string) bool {
	switch f := from.(type) {
	case []any:
		i, err := strconv.Atoi(path[0])
		return err == nil && i < len(f) && len(path) > 1 && remove(f[i], path[1:])
	case map[string]any:
		next, ok := f[path[0]]
		if ok && len(path) > 1 {
			return remove(next, path[1:])
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
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// describedLevels are those of fields that keep their descriptions: 3 is spec.racks.name.
const describedLevels = 3

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

// cassRules are the operator's rights: those that a Role can have, and those on what no
// namespace has.
func cassRules(module string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(module, "config/rbac/role.yaml"))
	if err != nil {
		return nil, err
	}
	var namespaced, cluster []rbacv1.PolicyRule
	for doc := range strings.SplitSeq(string(text), "---\n") {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := yaml.Unmarshal([]byte(doc), &role); err != nil {
			return nil, fmt.Errorf("config/rbac/role.yaml: %w", err)
		}
		if role.Kind == "ClusterRole" {
			cluster = append(cluster, role.Rules...)
		} else {
			namespaced = append(namespaced, role.Rules...)
		}
	}
	var out bytes.Buffer
	out.WriteString("{{- /* From config/rbac of cass-operator's module, by hack/charts.sh: do not edit. */ -}}\n")
	if err := define(&out, "cass-operator.rules", namespaced); err != nil {
		return nil, err
	}
	if err := define(&out, "cass-operator.clusterRules", cluster); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// cassImages are the images that the operator gives to pods of datacenters, without the
// registry: nodes have one, or the chart's values do.
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
