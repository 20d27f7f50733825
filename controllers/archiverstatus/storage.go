package archiverstatus

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// storageReady: engines can write. They know best: while they write, it does not
// matter that a Job checks the tables once more.
func storageReady(in *Input) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionStorageReady}
	set := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		c.Status, c.Reason, c.Message = status, reason, message
		return c
	}
	away, reports := storageAway(in)
	embedded := render.Embedded(in.Archiver)
	switch {
	case reports > 0 && away == "" && embedded:
		return set(metav1.ConditionTrue, v1alpha1.ReasonEmbedded, "the engine writes to its volume")
	case reports > 0 && away == "":
		return set(metav1.ConditionTrue, v1alpha1.ReasonConnected, "engines write to Cassandra")
	case nodesMissing(in) != nil:
		c := nodesMissing(in)
		return set(metav1.ConditionFalse, c.Reason, c.Message)
	case !embedded && !complete(in.Schema):
		if failed := schemaFailure(in); failed != "" {
			return set(metav1.ConditionFalse, v1alpha1.ReasonSchemaFailed, "making the tables in Cassandra failed, and is tried again: "+failed)
		}
		return set(metav1.ConditionFalse, v1alpha1.ReasonWaitingForSchema, "tables are being made in Cassandra")
	case away != "":
		return set(metav1.ConditionFalse, v1alpha1.ReasonAway, "engines keep samples in memory: "+away)
	}
	if old := previous(in.Archiver, c.Type); old != nil && !in.Settled {
		return set(old.Status, old.Reason, old.Message)
	}
	return set(metav1.ConditionUnknown, v1alpha1.ReasonWaitingForEngine, "no engine has reported")
}

// storageAway returns what the first engine says that can not write, and how
// many engines reported.
func storageAway(in *Input) (message string, reports int) {
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

// schemaFailure returns what the schema Job said when it failed last; "" if it
// did not.
func schemaFailure(in *Input) string {
	for i := range in.Pods {
		p := &in.Pods[i]
		if p.Labels[v1alpha1.LabelComponent] != v1alpha1.ComponentSchema || p.DeletionTimestamp != nil {
			continue
		}
		for j := range p.Status.ContainerStatuses {
			if said, failed := lastWords(&p.Status.ContainerStatuses[j]); failed {
				return cmp.Or(said, "nothing said; see the log of the Job")
			}
		}
	}
	return ""
}

// nodesMissing returns why a managed datacenter can not have its tables yet; nil if it can.
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
