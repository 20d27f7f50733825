package manifest

import (
	"context"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/manifest/manifesttest"
)

// archivers checks Archivers as an API server does.
func archivers(t *testing.T) *checker {
	t.Helper()
	return checkerOf(v1alpha1.KindArchiver)
}

// archiver returns an object, with the defaults of the schema.
func archiver(t *testing.T, c *checker, name, spec string) map[string]any {
	t.Helper()
	return object(t, c, "apiVersion: varve.dev/v1alpha1\nkind: Archiver\nmetadata: {namespace: ops, name: "+name+"}\nspec: {"+spec+"}\n")
}

// object returns the object of a text, with the defaults of the schema.
func object(t *testing.T, c *checker, text string) map[string]any {
	t.Helper()
	obj, err := split([]byte(text))[0].decode()
	if err != nil {
		t.Fatal(err)
	}
	defaulting.Default(obj, c.structural)
	return obj
}

func TestArchiversAreValidated(t *testing.T) {
	c := archivers(t)
	for _, tc := range manifesttest.Archivers() {
		errs := c.validate(object(t, c, tc.Manifest))
		if (tc.Want == "") != (len(errs) == 0) || (tc.Want != "" && !mention(errs, tc.Want)) {
			t.Errorf("%s: %v\nwant: %s", tc.Manifest, errs, tc.Want)
		}
	}
}

func TestImmutableFieldsOfAnArchiver(t *testing.T) {
	const external = "cassandra: {external: {contactPoints: [a]}, keyspace: ring}"
	c := archivers(t)
	for _, tc := range []struct{ from, to, want string }{
		{"storage: {embedded: {}}, shards: 64", "storage: {embedded: {}}, shards: 64, engines: {replicas: 0}", ""},
		{"storage: {embedded: {}}", "storage: {embedded: {}}, shards: 128", "shards cannot be changed"},
		{"storage: {embedded: {}}", "storage: {" + external + "}", "storage cannot be changed from cassandra to embedded or back"},
		{"storage: {" + external + "}", "storage: {cassandra: {external: {contactPoints: [a]}, keyspace: other}}", "keyspace cannot be changed"},
		{"storage: {" + external + "}", "storage: {cassandra: {external: {contactPoints: [b, c]}, keyspace: ring}}", ""},
		{"storage: {embedded: {size: 10Gi}}", "storage: {embedded: {size: 20Gi}}", "size cannot be changed"},
	} {
		from, to := archiver(t, c, "main", tc.from), archiver(t, c, "main", tc.to)
		broken, _ := c.rules.Validate(context.Background(), nil, c.structural, to, runtime.DeepCopyJSON(from), celconfig.RuntimeCELCostBudget)
		var errs []error
		for _, err := range broken {
			errs = append(errs, err)
		}
		if (tc.want == "") != (len(errs) == 0) || (tc.want != "" && !mention(errs, tc.want)) {
			t.Errorf("from %s to %s: %v\nwant: %s", tc.from, tc.to, errs, tc.want)
		}
	}
}
