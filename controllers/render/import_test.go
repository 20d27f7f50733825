package render

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// TestImportJobUsesTheStorageOfTheArchiver checks what an import needs to reach the archive and the files.
func TestImportJobUsesTheStorageOfTheArchiver(t *testing.T) {
	a := &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: "epics"}}
	a.Spec.Shards = 16 // an import into other shards than those of the engines waits for engines, or stores in the wrong ones
	a.Spec.Storage.Cassandra = &v1alpha1.CassandraSpec{External: &v1alpha1.ExternalCassandra{
		ContactPoints: []string{"cas-1"}, SecretRef: &v1alpha1.SecretReference{Name: "role"},
	}}
	job := ImportJob(Input{Archiver: a, Image: "varve:1"}, Import{Name: "main-import", Claim: "files", SubPath: "/lts", User: 1000, Args: []string{"--verify"}})
	pod := job.Spec.Template.Spec
	c := pod.Containers[0]
	line := strings.Join(c.Args, " ")
	for _, part := range []string{"import data --from appliance-files /source/lts ", "--cassandra=cas-1 ", "--cassandra-keyspace=epics__main ", "--cassandra-credentials=/etc/varve/credentials", " --shards=16 ", " --verify"} {
		if !strings.Contains(line, part) {
			t.Errorf("the arguments %q lack %q", line, part)
		}
	}
	if *c.Image != "varve:1" || *pod.SecurityContext.RunAsUser != 1000 || !*c.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("image %s, security %+v", *c.Image, pod.SecurityContext)
	}
	for _, v := range pod.Volumes {
		if *v.Name == "source" && (v.PersistentVolumeClaim == nil || *v.PersistentVolumeClaim.ClaimName != "files" || !*v.PersistentVolumeClaim.ReadOnly) {
			t.Errorf("the files are in %+v", v)
		}
	}
	if !slices.ContainsFunc(job.Spec.PodFailurePolicy.Rules[0].OnExitCodes.Values, func(v int32) bool { return v == 1 }) {
		t.Error("damage in the files makes Kubernetes repeat the import")
	}
}
