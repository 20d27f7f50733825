package charts_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"varve.dev/varve/api/v1alpha1"
	jobs "varve.dev/varve/controllers/render"
)

// TestServerTakesImportJob checks the manifests that `varve import job` prints, for external and for managed Cassandra.
func TestServerTakesImportJob(t *testing.T) {
	s := commonServer(t)
	for name, spec := range map[string]string{
		"external": "{cassandra: {external: {contactPoints: [cas-1], secretRef: {name: role}, tls: {secretRef: {name: ca}}}}}",
		"managed":  "{cassandra: {managed: {size: 3}}}",
	} {
		var a v1alpha1.Archiver
		if err := yaml.Unmarshal([]byte("{metadata: {name: main, namespace: epics}, spec: {storage: "+spec+"}}"), &a); err != nil {
			t.Fatal(err)
		}
		for _, o := range []jobs.Import{{Name: "a", Claim: "files"}, {Name: "b", HostPath: "/arch", Node: "n1", User: 1000, Group: 100, Args: []string{"--verify"}}} {
			text, err := yaml.Marshal(jobs.ImportJob(jobs.Input{Archiver: &a, Image: "varve:1"}, o))
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range documents(t, string(text)) {
				if err := s.dryRun(t, u); err != nil {
					t.Errorf("%s: %v\n%s", name, err, text)
				}
			}
		}
	}
}
