package render

import (
	"testing"

	"varve.dev/varve/api/v1alpha1"
)

func schemaName(t *testing.T, a *v1alpha1.Archiver, image string) string {
	t.Helper()
	for _, o := range Archiver(Input{Archiver: a, Image: image}) {
		if *o.GetKind() == "Job" {
			return *o.GetName()
		}
	}
	return ""
}

// TestSchemaJobRunsAgainAfterChange checks that a new Job runs after a change of the image or
// of the storage, but not after other changes.
func TestSchemaJobRunsAgainAfterChange(t *testing.T) {
	first := schemaName(t, inCassandra("lab", "main"), "varve:1")
	if again := schemaName(t, inCassandra("lab", "main"), "varve:1"); again != first {
		t.Fatalf("%s, then %s", first, again)
	}
	if schemaName(t, inCassandra("lab", "main"), "varve:2") == first {
		t.Error("a new image does not run the schema Job again")
	}
	a := inCassandra("lab", "main")
	a.Spec.Storage.Cassandra.External.ContactPoints = []string{"other"}
	if schemaName(t, a, "varve:1") == first {
		t.Error("a new Cassandra cluster does not run the schema Job again")
	}
	a = inCassandra("lab", "main")
	a.Spec.Engines.HostNetwork = true
	a.Spec.EPICS.CAAddrList = []string{"10.0.0.1"}
	if schemaName(t, a, "varve:1") != first {
		t.Error("a setting of the engines runs the schema Job again")
	}
	if name := schemaName(t, load(t, "testdata/embedded.in.yaml"), "varve:1"); name != "" {
		t.Errorf("an embedded archive has Job %s", name)
	}
}
