package main

import (
	"bytes"
	"fmt"
	"os"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// clusterScoped are resources that no Role can give access to.
var clusterScoped = map[string]bool{
	"nodes": true, "namespaces": true, "persistentvolumes": true, "storageclasses": true,
	"customresourcedefinitions": true, "clusterroles": true, "clusterrolebindings": true,
}

// readRules divides the operator's rules into those that a Role can have and
// those that need a ClusterRole, also if the operator watches some namespaces
// only.
func readRules(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(text, &role); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var namespaced, cluster []rbacv1.PolicyRule
	for _, rule := range role.Rules {
		var here, there []string
		for _, r := range rule.Resources {
			if clusterScoped[r] {
				there = append(there, r)
			} else {
				here = append(here, r)
			}
		}
		if len(there) > 0 || len(rule.NonResourceURLs) > 0 {
			r := rule
			r.Resources = there
			cluster = append(cluster, r)
		}
		if len(here) > 0 {
			r := rule
			r.Resources = here
			namespaced = append(namespaced, r)
		}
	}
	var out bytes.Buffer
	out.WriteString("{{- /* From config/rbac/role.yaml, by hack/charts.sh: do not edit. */ -}}\n")
	if err := define(&out, "varve-operator.rules", namespaced); err != nil {
		return nil, err
	}
	if err := define(&out, "varve-operator.clusterRules", cluster); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func define(out *bytes.Buffer, name string, rules []rbacv1.PolicyRule) error {
	fmt.Fprintf(out, "{{- define %q -}}\n", name)
	if len(rules) > 0 {
		text, err := yaml.Marshal(rules)
		if err != nil {
			return err
		}
		out.Write(text)
	}
	out.WriteString("{{- end }}\n")
	return nil
}
