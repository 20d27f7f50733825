package archiverstatus

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// storageReady returns the condition StorageReady. The reports of the engines decide: while
// engines can write, the condition stays true even if a schema Job checks the tables again.
func storageReady(in *Input) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionStorageReady}
	set := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		c.Status, c.Reason, c.Message = status, reason, message
		return c
	}
	failure, reports := storageError(in)
	embedded := render.Embedded(in.Archiver)
	switch {
	case reports > 0 && failure == "" && embedded:
		return set(metav1.ConditionTrue, v1alpha1.ReasonEmbedded, "the engine writes to its volume")
	case reports > 0 && failure == "":
		return set(metav1.ConditionTrue, v1alpha1.ReasonConnected, "engines write to Cassandra")
	case nodesMissing(in) != nil:
		c := nodesMissing(in)
		return set(metav1.ConditionFalse, c.Reason, c.Message)
	case !embedded && !complete(in.Schema):
		if failed := schemaFailure(in); failed != "" {
			return set(metav1.ConditionFalse, v1alpha1.ReasonSchemaFailed, "creating the tables in Cassandra failed and is retried: "+failed)
		}
		return set(metav1.ConditionFalse, v1alpha1.ReasonWaitingForSchema, "the tables are being created in Cassandra")
	case failure != "":
		return set(metav1.ConditionFalse, v1alpha1.ReasonAway, "engines cannot write to the storage and keep samples in memory: "+failure)
	}
	if old := previous(in.Archiver, c.Type); old != nil && !in.Synced {
		return set(old.Status, old.Reason, old.Message)
	}
	return set(metav1.ConditionUnknown, v1alpha1.ReasonWaitingForEngine, "no engine has reported")
}

// storageError returns the error of an engine that cannot write, and the number of engines that
// reported. If there are several errors, it returns the first in alphabetical order.
func storageError(in *Input) (message string, reports int) {
	for i := range in.Fleet {
		r := in.Fleet[i].Report
		if r == nil {
			continue
		}
		reports++
		if r.Storage != "" && (message == "" || r.Storage < message) {
			message = r.Storage
		}
	}
	return message, reports
}

// schemaFailure returns the error of the schema Job's last failure, or "".
func schemaFailure(in *Input) string { return jobFailure(in, v1alpha1.ComponentSchema) }

// nodesMissing returns why the tables of a managed datacenter cannot be created yet, or nil.
func nodesMissing(in *Input) *metav1.Condition {
	if complete(in.Schema) {
		return nil
	}
	for _, c := range cassandraReady(in) {
		if c.Status != metav1.ConditionTrue && c.Reason != v1alpha1.ReasonReplicating {
			return &c
		}
	}
	return nil
}
