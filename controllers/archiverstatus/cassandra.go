package archiverstatus

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// Datacenter is what was observed of the datacenter that is run for an archive.
type Datacenter struct {
	// Kind of the object that stands for it; empty if the cluster has none.
	Kind string
	// Size that its operator was asked for; 0 before there is one.
	Size int32
	// Version of Cassandra that it was asked for.
	Version string
	// Conditions are cass-operator's.
	Conditions []metav1.Condition
	// Behind says that they are not yet of what was asked for last.
	Behind bool
	// Error is what k8ssandra-operator says.
	Error string
	// Pods of the nodes.
	Pods []corev1.Pod
}

// Conditions of a CassandraDatacenter.
const (
	dcInitialized    = "Initialized"
	dcValid          = "Valid"
	dcStopped        = "Stopped"
	dcScalingUp      = "ScalingUp"
	dcScalingDown    = "ScalingDown"
	dcDecommission   = "Decommission"
	dcReplacingNodes = "ReplacingNodes"
	dcUpdating       = "Updating"
	dcRollingRestart = "RollingRestart"
	dcResuming       = "Resuming"
	dcResizing       = "ResizingVolumes"
)

func (d *Datacenter) is(conditions ...string) bool {
	return slices.ContainsFunc(conditions, func(c string) bool { return meta.IsStatusConditionTrue(d.Conditions, c) })
}

// Scaling reports whether nodes join or leave.
func (d *Datacenter) Scaling() bool { return d.is(dcScalingUp, dcScalingDown, dcDecommission) }

func (d *Datacenter) ready() (n int32) {
	for i := range d.Pods {
		if d.Pods[i].DeletionTimestamp == nil && slices.ContainsFunc(d.Pods[i].Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			n++
		}
	}
	return n
}

// Rendered is what objects are made of: of the datacenter, of the replicas that the last
// status has, and of those that schema Jobs say; there are two while one takes the other's
// place.
func (d *Datacenter) Rendered(a *v1alpha1.Archiver, jobs ...*batchv1.Job) render.Datacenter {
	if d == nil {
		return render.Datacenter{}
	}
	// A datacenter that never ran may be asked for another size at any time.
	r := render.Datacenter{Kind: d.Kind, Size: d.Size, Scaling: d.Scaling() || d.Behind && d.is(dcInitialized)}
	if a.Status != nil && a.Status.Cassandra != nil {
		r.Replicas = a.Status.Cassandra.ReplicationFactor
	}
	if len(jobs) == 1 && complete(jobs[0]) {
		r.Whole = jobReplicas(jobs[0])
	}
	return r
}

// cassandraStatus is nil without a managed datacenter.
func cassandraStatus(in *Input) *v1alpha1.CassandraStatus {
	d := in.Datacenter
	if d == nil {
		return nil
	}
	s := &v1alpha1.CassandraStatus{Kind: d.Kind, Version: d.Version, Nodes: fmt.Sprintf("%d/%d", d.ready(), render.Managed(in.Archiver).Size)}
	switch d.Kind {
	case render.KindK8ssandraCluster:
		s.Name = render.ClusterName(in.Archiver.Name)
	case render.KindCassandraDatacenter:
		s.Name = render.DatacenterName(in.Archiver.Name)
	}
	if was := in.Archiver.Status; was != nil && was.Cassandra != nil {
		s.ReplicationFactor = was.Cassandra.ReplicationFactor
	}
	if n := jobReplicas(in.Schema); n > 0 && complete(in.Schema) {
		s.ReplicationFactor = n
	}
	return s
}

// jobReplicas is the number of replicas that a schema Job brings the keyspace to; 0 if it
// leaves them as they are.
func jobReplicas(job *batchv1.Job) int32 {
	if job == nil {
		return 0
	}
	for _, c := range job.Spec.Template.Spec.Containers {
		for _, arg := range c.Args {
			if value, found := strings.CutPrefix(arg, render.ReplicationFlag); found {
				n, _ := strconv.ParseInt(value, 10, 32) // the operator's own
				return int32(n)
			}
		}
	}
	return 0
}

// cassandraReady: the datacenter has its nodes, and each sample its replicas. It is empty
// without a managed datacenter.
func cassandraReady(in *Input) []metav1.Condition {
	if in.Datacenter == nil {
		return nil
	}
	c := metav1.Condition{Type: v1alpha1.ConditionCassandraReady, Status: metav1.ConditionFalse}
	for _, check := range cassandraChecks {
		if c.Reason, c.Message = check(in, in.Datacenter); c.Reason != "" {
			return []metav1.Condition{c}
		}
	}
	c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonNodesReady
	c.Message = fmt.Sprintf("all %d nodes are ready, and each sample has %d replicas", in.Datacenter.Size, max(1, jobReplicas(in.Schema)))
	return []metav1.Condition{c}
}

// cassandraChecks are made in this order; the first that has a reason is told.
var cassandraChecks = []func(*Input, *Datacenter) (reason, message string){
	operatorMissing,
	datacenterRefused,
	datacenterStopped,
	nodesStuck,
	datacenterStarting,
	nodesUnderWay,
	nodesDown,
	replicating,
}

func operatorMissing(in *Input, d *Datacenter) (reason, message string) {
	if d.Kind != "" {
		return "", ""
	}
	missing := "neither k8ssandra-operator nor cass-operator is installed"
	switch render.Managed(in.Archiver).Operator {
	case v1alpha1.OperatorK8ssandra:
		missing = "k8ssandra-operator is not installed"
	case v1alpha1.OperatorCassOperator:
		missing = "cass-operator is not installed"
	}
	return v1alpha1.ReasonCassandraOperatorMissing, missing +
		": install it, for instance with this operator's chart and --set cass-operator.enabled=true, or name a cluster in spec.storage.cassandra.external"
}

func datacenterRefused(in *Input, d *Datacenter) (reason, message string) {
	if strings.Contains(in.Refused, d.Kind+" ") {
		return v1alpha1.ReasonCassandraRefused, in.Refused
	}
	if c := meta.FindStatusCondition(d.Conditions, dcValid); c != nil && c.Status == metav1.ConditionFalse {
		return v1alpha1.ReasonCassandraRefused, "cass-operator does not take the datacenter: " + c.Message
	}
	if d.Error != "" && d.Error != "None" {
		return v1alpha1.ReasonCassandraRefused, "k8ssandra-operator says: " + d.Error
	}
	return "", ""
}

func datacenterStopped(_ *Input, d *Datacenter) (reason, message string) {
	if !d.is(dcStopped) {
		return "", ""
	}
	return v1alpha1.ReasonCassandraStopped, fmt.Sprintf("the %s is stopped: set its stopped to false", d.Kind)
}

// nodesStuck says what keeps pods of nodes from running, and where to look.
func nodesStuck(_ *Input, d *Datacenter) (reason, message string) {
	for i := range d.Pods {
		found := podProblem(&d.Pods[i], "")
		if found.reason == "" {
			continue
		}
		message := found.message
		if strings.Contains(message, "PersistentVolumeClaim") {
			message += "; is there a StorageClass of the name in spec.storage.cassandra.managed.storageClassName, or a default one?"
		}
		return v1alpha1.ReasonCassandraStuck, fmt.Sprintf("%d of %d nodes are ready; a pod of Cassandra: %s", d.ready(), d.Size, message)
	}
	return "", ""
}

func datacenterStarting(_ *Input, d *Datacenter) (reason, message string) {
	if d.is(dcInitialized) {
		return "", ""
	}
	return v1alpha1.ReasonCassandraStarting, fmt.Sprintf("%d of %d nodes are ready", d.ready(), d.Size)
}

// nodesUnderWay: changes that somebody asked for.
func nodesUnderWay(in *Input, d *Datacenter) (reason, message string) {
	want := render.Managed(in.Archiver).Size
	switch {
	case d.is(dcReplacingNodes):
		return v1alpha1.ReasonReplacingNodes, "nodes are being replaced"
	case d.is(dcScalingUp), d.Size < want:
		return v1alpha1.ReasonCassandraScaling, fmt.Sprintf("nodes join: %d of %d are ready", d.ready(), max(d.Size, want))
	case d.is(dcScalingDown, dcDecommission):
		return v1alpha1.ReasonCassandraScaling, fmt.Sprintf("nodes leave, and give others what they have, until there are %d", d.Size)
	case d.is(dcUpdating, dcRollingRestart, dcResuming, dcResizing):
		return v1alpha1.ReasonCassandraUpdating, "nodes restart one by one with other settings"
	}
	return "", ""
}

func nodesDown(_ *Input, d *Datacenter) (reason, message string) {
	if d.ready() >= d.Size {
		return "", ""
	}
	return v1alpha1.ReasonNodesDown, fmt.Sprintf("%d of %d nodes are ready", d.ready(), d.Size)
}

// replicating: the schema Job brings the keyspace to another number of replicas.
func replicating(in *Input, d *Datacenter) (reason, message string) {
	want := render.Managed(in.Archiver).Size
	made := in.Archiver.Status != nil && in.Archiver.Status.Cassandra != nil && in.Archiver.Status.Cassandra.ReplicationFactor > 0
	if n := jobReplicas(in.Schema); n > 0 && made && !complete(in.Schema) {
		return v1alpha1.ReasonReplicating, fmt.Sprintf("samples get %d replicas, by one at a time, with a repair after each: the log of the schema Job tells how far that is", n)
	}
	if d.Size > want {
		return v1alpha1.ReasonCassandraScaling, fmt.Sprintf("%d nodes are to leave", d.Size-want)
	}
	return "", ""
}

// cassandraProblem: somebody has to look at the datacenter.
func cassandraProblem(in *Input) []problem {
	for _, c := range cassandraReady(in) {
		switch c.Reason {
		case v1alpha1.ReasonCassandraOperatorMissing, v1alpha1.ReasonCassandraRefused, v1alpha1.ReasonCassandraStuck,
			v1alpha1.ReasonCassandraStopped, v1alpha1.ReasonNodesDown:
			return []problem{{c.Reason, c.Message}}
		}
	}
	return nil
}
