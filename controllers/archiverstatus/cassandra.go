package archiverstatus

import (
	"cmp"
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

// Datacenter is the observed state of a managed datacenter.
type Datacenter struct {
	// Kind is the kind of the datacenter's object. It is empty if the cluster has no such CRD.
	Kind string
	// Size is the number of nodes in that object. It is 0 before the object exists.
	Size int32
	// Version is the version of Cassandra in that object.
	Version string
	// Conditions are the conditions that cass-operator sets.
	Conditions []metav1.Condition
	// Behind is set while the conditions describe an older generation of the object.
	Behind bool
	// Error is the error that k8ssandra-operator reports.
	Error string
	// Conflict is the reason why the datacenter does not follow the spec: another operator runs it, or its
	// name is taken.
	Conflict string
	// Waiting is a reason why the object of the datacenter does not exist yet, which passes.
	Waiting string
	// Pods are the pods of the nodes.
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

// Rendered returns the input for rendering objects. It combines the datacenter with the
// replication factors of the last status and of the schema Jobs. There are two Jobs while one
// replaces the other.
func (d *Datacenter) Rendered(a *v1alpha1.Archiver, jobs ...*batchv1.Job) render.Datacenter {
	if d == nil {
		return render.Datacenter{}
	}
	// The size of a datacenter that never ran can be changed at any time.
	r := render.Datacenter{Kind: d.Kind, Size: d.Size, Scaling: d.Scaling() || d.Behind && d.is(dcInitialized)}
	if a.Status != nil && a.Status.Cassandra != nil {
		r.Replicas, r.RoleSecret = a.Status.Cassandra.ReplicationFactor, a.Status.Cassandra.RoleSecret
	}
	if len(jobs) == 1 && complete(jobs[0]) {
		r.Whole = jobReplicas(jobs[0])
	}
	return r
}

// cassandraStatus returns the state of the managed datacenter, or nil if there is none.
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
		s.ReplicationFactor, s.RoleSecret = was.Cassandra.ReplicationFactor, was.Cassandra.RoleSecret
	}
	if n := jobReplicas(in.Schema); n > 0 && complete(in.Schema) {
		s.ReplicationFactor = n
	}
	return s
}

// jobReplicas returns the number of replicas that a schema Job sets on the keyspace, or 0 if it
// does not change them.
func jobReplicas(job *batchv1.Job) int32 {
	if job == nil {
		return 0
	}
	for _, c := range job.Spec.Template.Spec.Containers {
		for _, arg := range c.Args {
			if value, found := strings.CutPrefix(arg, render.ReplicationFlag); found {
				n, _ := strconv.ParseInt(value, 10, 32) // the operator wrote the flag
				return int32(n)
			}
		}
	}
	return 0
}

// cassandraReady returns the condition CassandraReady, or nothing without a managed
// datacenter. The condition is true when the datacenter has all its nodes and each sample has
// its replicas.
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

// cassandraChecks run in this order. The first check that returns a reason gives the condition.
var cassandraChecks = []func(*Input, *Datacenter) (reason, message string){
	datacenterConflict,
	operatorMissing,
	datacenterRefused,
	datacenterStopped,
	nodesStuck,
	datacenterStarting,
	nodesUnderWay,
	nodesDown,
	replicating,
}

func datacenterConflict(_ *Input, d *Datacenter) (reason, message string) {
	switch {
	case d.Conflict != "":
		return v1alpha1.ReasonCassandraRefused, d.Conflict
	case d.Waiting != "":
		return v1alpha1.ReasonCassandraStarting, d.Waiting
	}
	return "", ""
}

func operatorMissing(in *Input, d *Datacenter) (reason, message string) {
	if d.Kind != "" {
		return "", ""
	}
	missing := "neither k8ssandra-operator nor cass-operator is installed"
	switch render.WantedOperator(render.Managed(in.Archiver)) {
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
		return v1alpha1.ReasonCassandraRefused, "cass-operator rejects the datacenter: " + c.Message
	}
	if d.Error != "" && d.Error != "None" {
		return v1alpha1.ReasonCassandraRefused, "k8ssandra-operator reports: " + d.Error
	}
	return "", ""
}

func datacenterStopped(_ *Input, d *Datacenter) (reason, message string) {
	if !d.is(dcStopped) {
		return "", ""
	}
	return v1alpha1.ReasonCassandraStopped, fmt.Sprintf("the %s is stopped: set its field stopped to false", d.Kind)
}

// nodesStuck returns the reason why a node's pod does not run.
func nodesStuck(_ *Input, d *Datacenter) (reason, message string) {
	for i := range d.Pods {
		found := podProblem(&d.Pods[i], "")
		if found.reason == "" {
			continue
		}
		message := found.message
		if strings.Contains(message, "PersistentVolumeClaim") {
			message += "; check that the StorageClass in spec.storage.cassandra.managed.storageClassName, or a default StorageClass, exists"
		}
		return v1alpha1.ReasonCassandraStuck, fmt.Sprintf("%d of %d nodes are ready; Cassandra pod: %s", d.ready(), d.Size, message)
	}
	return "", ""
}

func datacenterStarting(in *Input, d *Datacenter) (reason, message string) {
	if d.is(dcInitialized) {
		return "", ""
	}
	return v1alpha1.ReasonCassandraStarting, fmt.Sprintf("%d of %d nodes are ready", d.ready(), cmp.Or(d.Size, render.Managed(in.Archiver).Size))
}

// nodesUnderWay returns changes of the nodes that are in progress.
func nodesUnderWay(in *Input, d *Datacenter) (reason, message string) {
	want := render.Managed(in.Archiver).Size
	switch {
	case d.is(dcReplacingNodes):
		return v1alpha1.ReasonReplacingNodes, "nodes are being replaced"
	case d.is(dcScalingUp), d.Size < want:
		return v1alpha1.ReasonCassandraScaling, fmt.Sprintf("nodes are joining: %d of %d are ready", d.ready(), max(d.Size, want))
	case d.is(dcScalingDown, dcDecommission):
		return v1alpha1.ReasonCassandraScaling, fmt.Sprintf("nodes are leaving and moving their data to others, until %d remain", d.Size)
	case d.is(dcUpdating, dcRollingRestart, dcResuming, dcResizing):
		return v1alpha1.ReasonCassandraUpdating, "nodes are restarting one by one with new settings"
	}
	return "", ""
}

func nodesDown(_ *Input, d *Datacenter) (reason, message string) {
	if d.ready() >= d.Size {
		return "", ""
	}
	return v1alpha1.ReasonNodesDown, fmt.Sprintf("%d of %d nodes are ready", d.ready(), d.Size)
}

// replicating returns a change of the number of replicas by the schema Job.
func replicating(in *Input, d *Datacenter) (reason, message string) {
	want := render.Managed(in.Archiver).Size
	made := in.Archiver.Status != nil && in.Archiver.Status.Cassandra != nil && in.Archiver.Status.Cassandra.ReplicationFactor > 0
	if n := jobReplicas(in.Schema); n > 0 && made && !complete(in.Schema) {
		return v1alpha1.ReasonReplicating, fmt.Sprintf("the number of replicas is changing to %d, in steps of one with a repair after each: see the log of the schema Job for the progress", n)
	}
	if d.Size > want {
		return v1alpha1.ReasonCassandraScaling, fmt.Sprintf("%d nodes will leave", d.Size-want)
	}
	return "", ""
}

// cassandraProblem returns a problem of the datacenter that an administrator must solve.
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
