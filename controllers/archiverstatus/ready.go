package archiverstatus

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// ready returns the condition Ready: true when all engines have the pod template of the spec, are ready and
// can write, all shards are captured, and clients can read the archive.
func ready(in *Input, storage metav1.Condition, problems []problem) metav1.Condition {
	no := func(reason, message string) metav1.Condition {
		if len(problems) > 0 {
			message += ": " + problems[0].message
		}
		return metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	engines := render.EngineReplicas(in.Archiver)
	up := readyReplicas(in.Engines)
	uncaptured := uncaptured(in)
	switch {
	case in.Restore != "":
		return no(v1alpha1.ReasonRestoring, restoringMessage(in))
	case engines == 0:
		return no(v1alpha1.ReasonNoEngines, "spec.engines.replicas is 0: nothing is captured")
	case up < engines:
		return no(v1alpha1.ReasonEnginesNotReady, fmt.Sprintf("%d of %d engines are ready", up, engines))
	case storage.Status != metav1.ConditionTrue:
		return metav1.Condition{
			Type: v1alpha1.ConditionReady, Status: storage.Status, Reason: storage.Reason, Message: storage.Message,
		}
	case uncaptured > 0:
		return no(v1alpha1.ReasonShardsNotCaptured, fmt.Sprintf("%d shards with channels are not captured yet", uncaptured))
	case !render.Embedded(in.Archiver) && wanted(in.Archiver.Spec.Retrieval.Replicas) > 0 && readyReplicas(in.Retrieval) == 0:
		return no(v1alpha1.ReasonRetrievalNotReady, "engines capture the PVs, but no retrieval pod is ready")
	}
	if message := rollout(in); message != "" {
		return no(v1alpha1.ReasonRolloutIncomplete, message)
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady,
		Message: "engines capture the PVs, and clients can read the archive",
	}
}

// rollout returns which pods do not have the template of the spec yet, or "".
func rollout(in *Input) string {
	for _, d := range []*appsv1.Deployment{in.Retrieval, in.Engines} {
		if d == nil || d.Annotations[AnnotationWorked] == in.Templates[d.Name] {
			continue
		}
		if c := stepCondition(in); c != nil {
			return c.Message
		}
		return fmt.Sprintf("%d of %d pods of Deployment %s have the pod template of the spec", d.Status.UpdatedReplicas, d.Status.Replicas, d.Name)
	}
	return ""
}

// reconciling returns the condition Reconciling. It is true while a change is in progress that
// completes without the user's help.
func reconciling(in *Input, stalled metav1.Condition) metav1.Condition {
	c := progress(in)
	if c.Status == metav1.ConditionTrue && stalled.Status == metav1.ConditionTrue {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonStalled, "see the condition Stalled; "+c.Message
	}
	return c
}

// progress returns the condition Reconciling if nothing hinders a change.
func progress(in *Input) metav1.Condition {
	yes := func(reason, message string) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: reason, Message: message}
	}
	if c := stepCondition(in); c != nil {
		return *c
	}
	switch {
	case in.Restore != "":
		return yes(v1alpha1.ReasonRestoring, restoringMessage(in))
	case !render.Embedded(in.Archiver) && !complete(in.Schema):
		return yes(v1alpha1.ReasonSchemaRuns, "tables are being created or checked")
	case !rolledOut(in.Engines):
		return yes(v1alpha1.ReasonRollingOut, "engines are being updated")
	case !render.Embedded(in.Archiver) && !rolledOut(in.Retrieval):
		return yes(v1alpha1.ReasonRollingOut, "retrieval pods are being updated")
	case in.Unplaced+in.Moving > 0:
		return yes(v1alpha1.ReasonShardsMoving, "shards are moving to engines")
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUpToDate,
		Message: "pods and shards are up to date with the spec",
	}
}

func restoringMessage(in *Input) string {
	return fmt.Sprintf("ArchiveRestore %s restores a backup into the archive: engines start after it", in.Restore)
}

func readyReplicas(d *appsv1.Deployment) int32 {
	if d == nil {
		return 0
	}
	return d.Status.ReadyReplicas
}

// rolledOut reports whether all pods have the latest template and are ready.
func rolledOut(d *appsv1.Deployment) bool {
	if d == nil {
		return false
	}
	n := wanted(d.Spec.Replicas)
	s := &d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == n && s.Replicas == n && s.ReadyReplicas == n
}

func complete(job *batchv1.Job) bool {
	if job == nil {
		return false
	}
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
