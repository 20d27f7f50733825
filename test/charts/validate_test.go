package charts_test

import (
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/charts"
	"varve.dev/varve/groups/manifest/manifesttest"
	"varve.dev/varve/groups/validate"
)

// TestValidateAgreesWithTheAPIServer checks that varve validate refuses what a real API server refuses, and nothing
// else, and that the manifests of the test break every rule of the CRDs.
func TestValidateAgreesWithTheAPIServer(t *testing.T) {
	s := commonServer(t)
	broken := map[string]bool{} // rules, by kind and message
	rules := allRules(t)
	for _, c := range append(manifesttest.All(), moreManifests()...) {
		theirs, ours := s.complaint(t, c.Manifest), complaintOfValidate(c.Manifest)
		if (theirs == "") != (ours == "") || (theirs == "") != (c.Want == "" || c.ByOperator) {
			t.Errorf("%s\nthe API server says: %s\nvarve validate says: %s\nwant: %s", c.Manifest, theirs, ours, c.Want)
		}
		for _, message := range rules[c.Kind] {
			if strings.Contains(theirs, message) && strings.Contains(ours, message) {
				broken[c.Kind+": "+message] = true
			}
		}
	}
	n := 0
	for kind, messages := range rules {
		for _, message := range messages {
			n++
			if !broken[kind+": "+message] {
				t.Errorf("no manifest breaks this rule of %s: %s", kind, message)
			}
		}
	}
	if n < 60 {
		t.Errorf("the CRDs have only %d rules", n)
	}
}

// complaint returns why the API server refuses to create an object, or "".
func (s *server) complaint(t *testing.T, text string) string {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &u.Object); err != nil {
		return err.Error() // nobody can send it
	}
	u.SetNamespace("epics")
	if err := s.Create(t.Context(), u, client.DryRunAll); err != nil {
		return err.Error()
	}
	return ""
}

// complaintOfValidate returns why varve validate says that an API server refuses an object, or "".
func complaintOfValidate(text string) string {
	var all []string
	report := validate.Check([]validate.File{{Name: "f.yaml", Text: []byte(text)}}, validate.Options{Now: time.Now()})
	for _, f := range report.Findings {
		if f.By != validate.ByOperator && f.Severity == validate.SeverityError {
			all = append(all, f.Message)
		}
	}
	return strings.Join(all, "; ")
}

// moreManifests are manifests whose metadata or kind an API server checks by other means than a CRD.
func moreManifests() (all []manifesttest.Case) {
	for meta, want := range map[string]string{
		"name: Not_OK": "wrong", "labels: {}": "wrong", "name: x, lables: {}": "wrong", "name: x, labels: [a]": "wrong",
		"name: x, labels: {a: b c}": "wrong", "name: x, annotations: {'a b': c}": "wrong", "name: x, finalizers: [a b]": "wrong",
		"name: x.y": "", "name: x, labels: {varve.dev/channels: 'true'}, annotations: {a: 'b c'}": "",
	} {
		all = append(all,
			manifesttest.Case{Manifest: "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {" + meta + "}\nspec: {archiverRef: {name: main}}\n", Want: want},
			manifesttest.Case{Manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {" + meta + "}\n", Want: want})
	}
	configMap := func(content string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pvs}\n" + content
	}
	return append(all,
		manifesttest.Case{Manifest: configMap("data: {'a b': X}\n"), Want: "wrong"},
		manifesttest.Case{Manifest: configMap("data: {a: [X]}\n"), Want: "wrong"},
		manifesttest.Case{Manifest: configMap("dta: {a: X}\n"), Want: "wrong"},
		manifesttest.Case{Manifest: configMap("data: {a: X}\nbinaryData: {a: WA==}\n"), Want: "wrong"},
		manifesttest.Case{Manifest: configMap("data: {a: " + strings.Repeat("x", 1<<20) + "}\n")},
		manifesttest.Case{Manifest: configMap("data: {a: " + strings.Repeat("x", 1<<20) + ", b: y}\n"), Want: "wrong"},
		manifesttest.Case{Manifest: "apiVersion: varve.dev/v1\nkind: ArchiveGroup\nmetadata: {name: x}\n", Want: "wrong"},
		manifesttest.Case{Manifest: "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGrup\nmetadata: {name: x}\n", Want: "wrong"},
		manifesttest.Case{Manifest: "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {name: x}\n", Want: "wrong"},
		manifesttest.Case{Manifest: "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {name: x}\nspec: {archiverRef: {name: main}}\nstatus: {observedGeneration: 1}\n"},
	)
}

// allRules returns the messages of the rules of each kind that apply to new objects.
func allRules(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, text := range [][]byte{charts.ArchiverCRD, charts.ArchiveGroupCRD, charts.ArchivePolicyCRD, charts.ArchiveShardCRD,
		charts.ArchiveBackupCRD, charts.ArchiveBackupScheduleCRD, charts.ArchiveRestoreCRD} {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		var walk func(s *apiextensionsv1.JSONSchemaProps)
		walk = func(s *apiextensionsv1.JSONSchemaProps) {
			for _, rule := range s.XValidations {
				if rule.Message == "" {
					t.Errorf("a rule of %s has no message: %s", crd.Spec.Names.Kind, rule.Rule)
				}
				if !seen[rule.Message] && !strings.Contains(rule.Rule, "oldSelf") {
					seen[rule.Message] = true
					out[crd.Spec.Names.Kind] = append(out[crd.Spec.Names.Kind], rule.Message)
				}
			}
			for _, p := range s.Properties {
				walk(&p)
			}
			if s.Items != nil {
				walk(s.Items.Schema)
			}
			if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
				walk(s.AdditionalProperties.Schema)
			}
		}
		walk(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	}
	return out
}
