// Package archiverstatus computes the status of an Archiver. It is pure: the same observations
// give the same status.
//
//	Deployments, Job, pods ──┐                ┌─▶ problems ──▶ Degraded
//	ArchiveShards ───────────┼─▶ Input ──▶ ───┼─▶ StorageReady, Stalled, Reconciling ──▶ Ready; DiskGuard, Autoscaling, CassandraReady, InternalTLS, Finalized
//	reports of engines ──────┘                └─▶ counts and rates, rounded
//
// Each condition comes from an ordered list of checks of the same Input. The first check that
// applies gives the reason.
package archiverstatus

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/placement"
	"varve.dev/varve/controllers/render"
)

// Input is the observed state of an Archiver.
type Input struct {
	// Archiver is the Archiver with its last written status.
	Archiver *v1alpha1.Archiver

	// Engines, Retrieval and Schema are nil before they exist. An embedded archive has no
	// Retrieval and no Schema.
	Engines   *appsv1.Deployment
	Retrieval *appsv1.Deployment
	Schema    *batchv1.Job
	// Autoscaler is nil before it exists, and without spec.engines.autoscaling.
	Autoscaler *autoscalingv2.HorizontalPodAutoscaler
	// Pods are the pods of all components.
	Pods []corev1.Pod
	// Mounts is the reason why the volumes of a pod cannot be mounted, by name of the pod.
	Mounts map[string]string
	// Datacenter is the datacenter of storage.cassandra.managed. It is nil if there is none.
	Datacenter *Datacenter
	// Finalization is the result of Finalize for this state.
	Finalization Finalization
	// Step is what pods wait for before they are replaced.
	Step Step
	// Templates has the hashes of the pod templates of the spec, by name of the Deployment.
	Templates map[string]string
	// InternalTLS is the state of the certificates of spec.internalTLS. It is nil without this field.
	InternalTLS *InternalTLS
	// Restore is the ArchiveRestore that restores a backup into the archive, or "".
	Restore string
	// Refused names the objects that the API server rejected, with the reasons.
	Refused string

	// MissingCRD is the CRD of groups or of policies if it is missing, or "".
	MissingCRD string

	// Shards are the shards of the archive, in any order.
	Shards []v1alpha1.ArchiveShard
	// Unplaced is the number of shards that have channels but no engine. Moving is the number
	// of shards that move between two engines.
	Unplaced, Moving int
	// Blind are the engines that do not reach hosts that other engines reach.
	Blind []placement.BlindEngine
	// Moves is the progress of the shard moves. It is nil while no shard moves.
	Moves *v1alpha1.MovesStatus

	// Fleet are the engines and their reports.
	Fleet []fleet.Engine
	// Synced is set when the operator has run long enough to have a report of every engine.
	// Until then, Compute keeps the numbers of the last status.
	Synced bool

	Now time.Time
}

// Compute returns the status of the Archiver.
func Compute(in Input) v1alpha1.ArchiverStatus {
	a := in.Archiver
	status := v1alpha1.ArchiverStatus{
		ObservedGeneration: a.Generation,
		Selector:           render.EngineSelector(a.Name),
		URL:                render.URL(a),
		Shards:             fmt.Sprintf("%d/%d", len(captured(&in)), total(&in)),
	}
	var ready int32
	if in.Engines != nil {
		status.Replicas, ready = in.Engines.Status.Replicas, in.Engines.Status.ReadyReplicas
	}
	status.Engines = fmt.Sprintf("%d/%d", ready, render.EngineReplicas(a))
	status.Channels, status.Rates = counts(&in)
	status.Redundancy = redundancy(&in)
	status.Moves, status.WorstCircuits = in.Moves, worstCircuits(&in)
	status.Cassandra = cassandraStatus(&in)
	status.Format = in.Finalization.Format
	status.Conditions = conditions(&in)
	return status
}

// conditions returns all conditions in the order of their importance to users.
func conditions(in *Input) []metav1.Condition {
	storage := storageReady(in)
	problems := problems(in)
	stalled := stalled(in, problems)
	all := []metav1.Condition{
		ready(in, storage, problems),
		reconciling(in, stalled),
		stalled,
		degraded(problems),
		storage,
	}
	all = append(all, diskGuard(in)...)
	all = append(all, autoscaling(in)...)
	all = append(all, redundant(in)...)
	all = append(all, cassandraReady(in)...)
	all = append(all, internalTLS(in)...)
	all = append(all, finalized(in)...)
	for i := range all {
		c := &all[i]
		c.ObservedGeneration = in.Archiver.Generation
		c.Message = cut(c.Message)
		c.LastTransitionTime = metav1.NewTime(in.Now)
		if old := previous(in.Archiver, c.Type); old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
	return all
}

// previous returns the last written condition of a type, or nil. The API server's default does not count.
func previous(a *v1alpha1.Archiver, kind string) *metav1.Condition {
	if a.Status == nil {
		return nil
	}
	for i := range a.Status.Conditions {
		if c := &a.Status.Conditions[i]; c.Type == kind && c.Reason != v1alpha1.ReasonPending {
			return c
		}
	}
	return nil
}

// wanted returns a number of replicas, with the API server's default.
func wanted(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

// cut limits the length of a message, because some messages come from other programs.
func cut(message string) string {
	const most = 1024
	if len(message) <= most {
		return message
	}
	for i := most; ; i-- {
		if message[i]&0xC0 != 0x80 { // the first byte of a character
			return message[:i] + " …"
		}
	}
}
