package main

import (
	"bytes"
	"fmt"
	"os"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// clusterScoped lists resources that belong to no namespace: a Role cannot give access to them.
var clusterScoped = map[string]bool{
	"nodes": true, "namespaces": true, "persistentvolumes": true, "storageclasses": true,
	"customresourcedefinitions": true, "clusterroles": true, "clusterrolebindings": true,
}

// readRules divides the operator's RBAC rules into two templates: rules that a Role can have, and
// rules that need a ClusterRole even if the operator watches only some namespaces.
func readRules(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(text, &role); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	var namespaced, cluster []rbacv1.PolicyRule
	for _, rule := range role.Rules {
		var inNamespace, inCluster []string
		for _, r := range rule.Resources {
			if clusterScoped[r] {
				inCluster = append(inCluster, r)
			} else {
				inNamespace = append(inNamespace, r)
			}
		}
		if len(inCluster) > 0 || len(rule.NonResourceURLs) > 0 {
			r := rule
			r.Resources = inCluster
			cluster = append(cluster, r)
		}
		if len(inNamespace) > 0 {
			r := rule
			r.Resources = inNamespace
			namespaced = append(namespaced, r)
		}
	}
	var out bytes.Buffer
	out.WriteString("{{- /* From config/rbac/role.yaml, by hack/charts.sh: do not edit. */ -}}\n")
	if err := writeTemplate(&out, "varve-operator.rules", namespaced); err != nil {
		return nil, err
	}
	if err := writeTemplate(&out, "varve-operator.clusterRules", cluster); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// writeTemplate writes a named template that holds rules.
func writeTemplate(out *bytes.Buffer, name string, rules []rbacv1.PolicyRule) error {
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
