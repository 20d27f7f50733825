package render

import (
	"slices"
	"strings"
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

// TestTheFinalizeJobUsesTheArchiveAsEnginesDo checks the command, and that each level and image has a Job of its own.
func TestTheFinalizeJobUsesTheArchiveAsEnginesDo(t *testing.T) {
	in := Input{Archiver: inCassandra("lab", "main"), Image: "varve:2"}
	job := FinalizeJob(in, 6)
	c := job.Spec.Template.Spec.Containers[0]
	want := []string{"store", "finalize", "--level=6", "--cassandra=cassandra", "--cassandra-keyspace=lab__main"}
	if !slices.Equal(c.Args, want) || *c.Image != "varve:2" {
		t.Errorf("%s runs %q, want %q", *c.Image, c.Args, want)
	}
	if *job.Name == *FinalizeJob(in, 7).Name || !strings.HasPrefix(*job.Name, "main-finalize-") {
		t.Errorf("the name is %s, also for another level", *job.Name)
	}
	if got := job.Labels[v1alpha1.LabelComponent]; got != v1alpha1.ComponentFinalize {
		t.Errorf("the component is %s", got)
	}
}
