package render

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// TestSecretsAreMounted checks that pods mount their Secrets, and do not start without them.
func TestSecretsAreMounted(t *testing.T) {
	pod := engines(t, load(t, "testdata/external.in.yaml")).Spec.Template.Spec
	want := map[string]string{"cassandra-login": credentialsDir, "cassandra-tls": tlsDir}
	for _, v := range pod.Volumes {
		if v.Secret == nil {
			continue
		}
		if v.Secret.Optional == nil || *v.Secret.Optional {
			t.Errorf("Secret %s is optional", v.Secret.SecretName)
		}
		for _, m := range pod.Containers[0].VolumeMounts {
			if m.Name == v.Name && m.ReadOnly && m.MountPath == want[v.Secret.SecretName] {
				delete(want, v.Secret.SecretName)
			}
		}
	}
	if len(want) != 0 {
		t.Errorf("not mounted: %v", want)
	}
}

// TestCaptureDoesNotNeedTheOlderArchivesSecret checks which pods start without it.
func TestCaptureDoesNotNeedTheOlderArchivesSecret(t *testing.T) {
	for file, want := range map[string]bool{"testdata/embedded.in.yaml": true, "testdata/external.in.yaml": false} {
		a := load(t, file)
		a.Spec.Retrieval.ReadThrough = "https://older.invalid/retrieval"
		a.Spec.Retrieval.ReadThroughSecretRef = &v1alpha1.SecretReference{Name: "older"}
		_, volumes := through(a)
		if len(volumes) != 1 || *volumes[0].Secret.SecretName != "older" || *volumes[0].Secret.Optional != want {
			t.Errorf("%s: volumes %v; want one, optional: %t", file, volumes, want)
		}
	}
}

func TestTLSNeedsNoSecret(t *testing.T) {
	a := inCassandra("lab", "main")
	a.Spec.Storage.Cassandra.External.TLS = &v1alpha1.CassandraTLS{}
	flags, volumes := storage(a)
	if len(volumes) != 0 || flags[len(flags)-1] != "--cassandra-tls=true" {
		t.Errorf("flags %v, volumes %v", flags, volumes)
	}
}

// TestVolumeIsDeletedOnlyOnRequest checks the volume's owner for each deletionPolicy.
func TestVolumeIsDeletedOnlyOnRequest(t *testing.T) {
	a := load(t, "testdata/embedded.in.yaml")
	for policy, owners := range map[v1alpha1.DeletionPolicy]int{v1alpha1.RetainData: 0, v1alpha1.DeleteData: 1} {
		a.Spec.Storage.Embedded.DeletionPolicy = policy
		claim := rendered[corev1.PersistentVolumeClaim](t, a, "PersistentVolumeClaim", VolumeName(a.Name))
		if len(claim.OwnerReferences) != owners {
			t.Errorf("%s: owners %v", policy, claim.OwnerReferences)
		}
		if prune := claim.Annotations["argocd.argoproj.io/sync-options"]; (prune == "Prune=false") == (owners > 0) {
			t.Errorf("%s: with %d owners, Argo CD has the option %q", policy, owners, prune)
		}
	}
}
