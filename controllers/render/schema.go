package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	batch "k8s.io/client-go/applyconfigurations/batch/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// schemaRetries is for ever, as far as people are concerned: the kubelet starts
// the container again every five minutes at most, and Cassandra may be away for
// a weekend.
const schemaRetries = 1_000_000

// schemaJob makes the tables. It is named by the hash of its pods: whatever may
// need other tables makes another Job, and one that has done its work stays as
// the record of it.
func schemaJob(in Input) *batch.JobApplyConfiguration {
	a := in.Archiver
	flags, volumes := storage(a)
	if Managed(a) != nil {
		flags, volumes = administration(in)
	}
	container := core.Container().
		WithArgs("schema").
		WithArgs(logArgs(a)...).
		WithArgs(flags...).
		WithResources(requirements(schemaResources))
	template := in.template(podTemplate{
		component: v1alpha1.ComponentSchema, settings: schemaSettings(a), container: container, volumes: volumes,
	})
	template.Spec.
		WithAutomountServiceAccountToken(false).
		WithRestartPolicy(corev1.RestartPolicyOnFailure)
	return batch.Job(a.Name+"-schema-"+hash(template), a.Namespace).
		WithLabels(Labels(a.Name, v1alpha1.ComponentSchema)).
		WithOwnerReferences(owner(a)).
		WithSpec(batch.JobSpec().
			WithBackoffLimit(schemaRetries).
			WithTemplate(template))
}

// administration lets the Job make the role that engines have, and bring the keyspace to
// its replicas.
func administration(in Input) (flags []string, volumes []volume) {
	superuser, _ := SuperuserSecret(in.Archiver)
	flags, volumes = managedFlags(in.Archiver, superuser)
	flags = append(flags, ReplicationFlag+strconv.Itoa(int(in.replicasNow())), "--role-credentials="+roleDir)
	return flags, append(volumes, secretVolume("role", RoleSecret(in.Archiver.Name), roleDir))
}

// ReplicationFlag is in front of the number of replicas that a schema Job brings the
// keyspace to.
const ReplicationFlag = "--replication-factor="

// schemaSettings lets the Job run as retrieval pods do: what opens the way to
// Cassandra for those opens it for the Job.
func schemaSettings(a *v1alpha1.Archiver) *v1alpha1.PodSpec {
	settings := a.Spec.Retrieval.PodSpec
	settings.Resources = nil
	return &settings
}

// hash returns 8 hexadecimal digits that depend on the JSON of v.
func hash(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("BUG: an apply configuration without JSON: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}
