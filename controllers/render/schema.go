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

// schemaRetries is practically unlimited, because Cassandra can be unreachable for days. The
// kubelet waits up to five minutes before it restarts the container.
const schemaRetries = 1_000_000

// annotationRoleSecret is on the pods of the schema Job, so that another password runs the Job again.
const annotationRoleSecret = "varve.dev/role-secret"

// schemaJob returns the Job that creates the tables. Its name contains the hash of its pod
// template, so each change that can affect the tables creates a new Job. A completed Job is
// kept as a record.
func schemaJob(in Input) *batch.JobApplyConfiguration {
	a := in.Archiver
	flags, volumes := storage(a)
	var annotations map[string]string
	if Managed(a) != nil {
		flags, volumes = administration(in)
		if id := in.Datacenter.RoleSecret; id != "" {
			annotations = map[string]string{annotationRoleSecret: id}
		}
	}
	container := core.Container().
		WithArgs("schema").
		WithArgs(logArgs(a)...).
		WithArgs(flags...).
		WithResources(requirements(schemaResources))
	template := in.template(podTemplate{
		component: v1alpha1.ComponentSchema, settings: schemaSettings(a), container: container, volumes: volumes, annotations: annotations,
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

// FinalizeJob returns the Job that raises the archive to a format level. The operator applies it when all pods run an
// image that knows the level. It needs no other rights in Cassandra than engines have.
func FinalizeJob(in Input, level int32) *batch.JobApplyConfiguration {
	a := in.Archiver
	flags, volumes := storage(a)
	container := core.Container().
		WithArgs("store", "finalize", "--level="+strconv.Itoa(int(level))).
		WithArgs(flags...).
		WithResources(requirements(schemaResources))
	template := in.template(podTemplate{
		component: v1alpha1.ComponentFinalize, settings: schemaSettings(a), container: container, volumes: volumes,
	})
	template.Spec.
		WithAutomountServiceAccountToken(false).
		WithRestartPolicy(corev1.RestartPolicyOnFailure)
	return batch.Job(a.Name+"-finalize-"+hash(template), a.Namespace).
		WithLabels(Labels(a.Name, v1alpha1.ComponentFinalize)).
		WithOwnerReferences(owner(a)).
		WithSpec(batch.JobSpec().
			WithBackoffLimit(schemaRetries).
			WithTemplate(template))
}

// administration returns the flags and volumes with which the Job creates the engines' role and
// sets the number of replicas.
func administration(in Input) (flags []string, volumes []volume) {
	superuser, _ := SuperuserSecret(in.Archiver)
	flags, volumes = managedFlags(in.Archiver, superuser)
	flags = append(flags, ReplicationFlag+strconv.Itoa(int(in.replicasNow())), "--role-credentials="+roleDir)
	return flags, append(volumes, secretVolume("role", RoleSecret(in.Archiver.Name), roleDir))
}

// ReplicationFlag is the flag with the number of replicas that a schema Job sets on the keyspace.
const ReplicationFlag = "--replication-factor="

// schemaSettings returns the settings of the retrieval pods, so that the Job runs where it can
// reach Cassandra.
func schemaSettings(a *v1alpha1.Archiver) *v1alpha1.PodSpec {
	settings := a.Spec.Retrieval.PodSpec
	settings.Resources = nil
	return &settings
}

// hash returns 8 hexadecimal digits that depend on the JSON of v.
func hash(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("BUG: encoding an apply configuration: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}
