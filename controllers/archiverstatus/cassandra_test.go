package archiverstatus

import (
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// managed returns an Archiver whose datacenter has all its nodes.
func managed(size int32) Input {
	in := healthy()
	in.Archiver.Spec.Storage = v1alpha1.StorageSpec{Cassandra: &v1alpha1.CassandraSpec{Managed: &v1alpha1.ManagedCassandra{Size: size}}}
	in.Datacenter = &Datacenter{Kind: render.KindCassandraDatacenter, Size: size, Version: "5.0.9", Conditions: dcConditions(dcInitialized, "Ready")}
	for range size {
		in.Datacenter.Pods = append(in.Datacenter.Pods, corev1.Pod{Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		}})
	}
	in.Schema = replicationJob(min(3, size), true)
	in.Archiver.Status = &v1alpha1.ArchiverStatus{Cassandra: &v1alpha1.CassandraStatus{ReplicationFactor: min(3, size)}}
	return in
}

func dcConditions(are ...string) (all []metav1.Condition) {
	for _, c := range are {
		all = append(all, metav1.Condition{Type: c, Status: metav1.ConditionTrue})
	}
	return all
}

func replicationJob(replicas int32, done bool) *batchv1.Job {
	job := &batchv1.Job{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Args: []string{"schema", render.ReplicationFlag + strconv.Itoa(int(replicas))}}},
	}}}}
	if done {
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	}
	return job
}

func unschedulable(message string) corev1.Pod {
	return corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
	}}}}
}

func TestCassandraReadyReportsProblems(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(*Input)
		reason   string
		message  string
		degraded bool
		storage  string // reason of StorageReady while there are no tables
	}{
		"all nodes": {
			change: func(*Input) {}, reason: v1alpha1.ReasonNodesReady, message: "all 3 nodes are ready, and each sample has 3 replicas",
		},
		"no operator": {
			change: func(in *Input) { in.Datacenter, in.Schema = &Datacenter{}, nil }, reason: v1alpha1.ReasonCassandraOperatorMissing,
			message: "cass-operator.enabled=true", degraded: true, storage: v1alpha1.ReasonCassandraOperatorMissing,
		},
		"other operator": {
			change: func(in *Input) {
				in.Datacenter = &Datacenter{}
				render.Managed(in.Archiver).Operator = v1alpha1.OperatorK8ssandra
			},
			reason: v1alpha1.ReasonCassandraOperatorMissing, message: "k8ssandra-operator is not installed", degraded: true,
		},
		"the object is refused": {
			change: func(in *Input) { in.Refused = "CassandraDatacenter main: it is Tuesday" },
			reason: v1alpha1.ReasonCassandraRefused, message: "it is Tuesday", degraded: true,
		},
		"a secret is missing": {
			change: func(in *Input) {
				in.Datacenter.Conditions = append(in.Datacenter.Conditions, metav1.Condition{Type: dcValid, Status: metav1.ConditionFalse, Message: "no Secret admin"})
			},
			reason: v1alpha1.ReasonCassandraRefused, message: "no Secret admin", degraded: true,
		},
		"stopped": {
			change: func(in *Input) { in.Datacenter.Conditions = dcConditions(dcInitialized, dcStopped) },
			reason: v1alpha1.ReasonCassandraStopped, message: "set its field stopped to false", degraded: true,
		},
		"starts": {
			change: func(in *Input) {
				in.Datacenter.Conditions, in.Datacenter.Pods, in.Schema = nil, in.Datacenter.Pods[:1], nil
			},
			reason: v1alpha1.ReasonCassandraStarting, message: "1 of 3 nodes are ready", storage: v1alpha1.ReasonCassandraStarting,
		},
		"is not created yet": {
			change: func(in *Input) { in.Datacenter, in.Schema = &Datacenter{Kind: render.KindK8ssandraCluster}, nil },
			reason: v1alpha1.ReasonCassandraStarting, message: "0 of 3 nodes are ready", storage: v1alpha1.ReasonCassandraStarting,
		},
		"an earlier object is being deleted": {
			change: func(in *Input) {
				in.Datacenter, in.Schema = &Datacenter{Waiting: "an earlier one is being deleted"}, nil
			},
			reason: v1alpha1.ReasonCassandraStarting, message: "an earlier one", storage: v1alpha1.ReasonCassandraStarting,
		},
		"another operator is wanted": {
			change: func(in *Input) { in.Datacenter.Conflict = "cass-operator runs this datacenter" },
			reason: v1alpha1.ReasonCassandraRefused, message: "cass-operator runs", degraded: true,
		},
		"wrong storage class": {
			change: func(in *Input) {
				in.Datacenter.Conditions, in.Schema = nil, nil
				in.Datacenter.Pods = []corev1.Pod{unschedulable("pod has unbound immediate PersistentVolumeClaims")}
			},
			reason: v1alpha1.ReasonCassandraStuck, message: "storageClassName", degraded: true, storage: v1alpha1.ReasonCassandraStuck,
		},
		"a pod is unschedulable": {
			change: func(in *Input) { in.Datacenter.Pods[2] = unschedulable("0/3 nodes are available") },
			reason: v1alpha1.ReasonCassandraStuck, message: "2 of 3 nodes are ready; Cassandra pod: 0/3 nodes are available", degraded: true,
		},
		"a node is down": {
			change: func(in *Input) { in.Datacenter.Pods[1].Status.Conditions = nil },
			reason: v1alpha1.ReasonNodesDown, message: "2 of 3 nodes", degraded: true,
		},
		"nodes join": {
			change: func(in *Input) { in.Datacenter.Conditions = dcConditions(dcInitialized, dcScalingUp) },
			reason: v1alpha1.ReasonCassandraScaling, message: "nodes are joining",
		},
		"nodes will join": {
			change: func(in *Input) { in.Datacenter.Size = 1 }, reason: v1alpha1.ReasonCassandraScaling, message: "of 3 are ready",
		},
		"nodes leave": {
			change: func(in *Input) { in.Datacenter.Conditions = dcConditions(dcInitialized, dcScalingDown) },
			reason: v1alpha1.ReasonCassandraScaling, message: "nodes are leaving",
		},
		"nodes will leave": {
			change: func(in *Input) { render.Managed(in.Archiver).Size = 2; in.Schema = replicationJob(2, true) },
			reason: v1alpha1.ReasonCassandraScaling, message: "1 nodes will leave",
		},
		"fewer replicas first": {
			change: func(in *Input) { render.Managed(in.Archiver).Size = 2; in.Schema = replicationJob(2, false) },
			reason: v1alpha1.ReasonReplicating, message: "the number of replicas is changing to 2",
		},
		"tables are created": {
			change: func(in *Input) { in.Archiver.Status = nil; in.Schema = replicationJob(3, false) },
			reason: v1alpha1.ReasonNodesReady,
		},
		"rolls": {
			change: func(in *Input) { in.Datacenter.Conditions = dcConditions(dcInitialized, dcRollingRestart) },
			reason: v1alpha1.ReasonCassandraUpdating, message: "one by one",
		},
		"replaces": {
			change: func(in *Input) { in.Datacenter.Conditions = dcConditions(dcInitialized, dcReplacingNodes) },
			reason: v1alpha1.ReasonReplacingNodes, message: "replaced",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := managed(3)
			tc.change(&in)
			status := Compute(in)
			c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionCassandraReady)
			if c == nil || c.Reason != tc.reason || !strings.Contains(c.Message, tc.message) ||
				(c.Status == metav1.ConditionTrue) != (tc.reason == v1alpha1.ReasonNodesReady) {
				t.Errorf("got condition %+v", c)
			}
			if d := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDegraded); (d.Reason == tc.reason) != tc.degraded {
				t.Errorf("degraded: %+v", d)
			}
			if tc.storage == "" {
				return
			}
			in.Fleet = nil
			if s := meta.FindStatusCondition(Compute(in).Conditions, v1alpha1.ConditionStorageReady); s.Status != metav1.ConditionFalse || s.Reason != tc.storage {
				t.Errorf("storage: %+v", s)
			}
		})
	}
	if meta.FindStatusCondition(Compute(healthy()).Conditions, v1alpha1.ConditionCassandraReady) != nil {
		t.Error("an Archiver with an external cluster has the condition")
	}
}

// TestReplicationFactorChangesWhenJobCompletes checks that the status shows a number of replicas
// only when its Job is complete.
func TestReplicationFactorChangesWhenJobCompletes(t *testing.T) {
	in := managed(3)
	in.Archiver.Status = &v1alpha1.ArchiverStatus{Cassandra: &v1alpha1.CassandraStatus{ReplicationFactor: 1}}
	in.Schema = replicationJob(3, false)
	if s := Compute(in).Cassandra; s.ReplicationFactor != 1 || s.Nodes != "3/3" || s.Kind != "CassandraDatacenter" || s.Name != in.Archiver.Name || s.Version != "5.0.9" {
		t.Errorf("while the Job runs: %+v", s)
	}
	in.Schema = replicationJob(3, true)
	if s := Compute(in).Cassandra; s.ReplicationFactor != 3 {
		t.Errorf("after the Job: %+v", s)
	}
	if got := in.Datacenter.Rendered(in.Archiver, in.Schema); got.Replicas != 1 || got.Whole != 3 || got.Scaling || got.Size != 3 {
		t.Errorf("input of the objects: %+v", got)
	}
	for name, jobs := range map[string][]*batchv1.Job{
		"none": nil, "one that runs": {replicationJob(3, false)}, "two": {replicationJob(1, true), replicationJob(3, true)},
	} {
		if got := in.Datacenter.Rendered(in.Archiver, jobs...); got.Whole != 0 {
			t.Errorf("with Jobs %s: got Whole = %d", name, got.Whole)
		}
	}
}
