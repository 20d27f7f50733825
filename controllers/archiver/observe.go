package archiver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/archiverstatus"
	"varve.dev/varve/controllers/render"
)

// observe gathers the input of the status that does not come from objects of the Archiver.
func (r *Reconciler) observe(ctx context.Context, a *v1alpha1.Archiver) (archiverstatus.Input, error) {
	in := archiverstatus.Input{Archiver: a, Synced: r.Fleet.Synced(), Now: time.Now()}
	name := client.ObjectKeyFromObject(a)
	ours := []client.ListOption{client.InNamespace(a.Namespace), client.MatchingLabels{v1alpha1.LabelArchiver: a.Name}, client.UnsafeDisableDeepCopy}
	var pods corev1.PodList
	var shards v1alpha1.ArchiveShardList
	var err error
	if err = r.Client.List(ctx, &pods, ours...); err != nil {
		return in, fmt.Errorf("listing pods: %w", err)
	}
	if err = r.Client.List(ctx, &shards, ours...); err != nil {
		return in, fmt.Errorf("listing shards: %w", err)
	}
	if in.Fleet, err = r.Fleet.Engines(ctx, name); err != nil {
		return in, fmt.Errorf("listing engines: %w", err)
	}
	in.Pods, in.Shards = pods.Items, shards.Items
	in.Mounts = failedMounts(ctx, r.API, in.Pods, in.Now)
	if o := r.Outcomes.Get(name); o != nil {
		in.Unplaced, in.Moving, in.Moves, in.Blind = o.Unplaced, o.Moving, o.Moves.Status(), o.Blind
		in.MissingCRD = o.MissingCRD
	}
	return in, nil
}

// useObjects sets the input that comes from objects of the Archiver.
func useObjects(in *archiverstatus.Input, live map[childKey]client.Object) {
	name := in.Archiver.Name
	in.Engines, _ = live[childKey{"Deployment", render.EngineName(name)}].(*appsv1.Deployment)
	in.Retrieval, _ = live[childKey{"Deployment", render.RetrievalName(name)}].(*appsv1.Deployment)
	in.Autoscaler, _ = live[childKey{"HorizontalPodAutoscaler", render.EngineName(name)}].(*autoscalingv2.HorizontalPodAutoscaler)
	in.Schema = nil
	for _, job := range schemaJobs(live) {
		in.Schema = job
	}
}

// schemaJobs returns the schema Jobs that are not being deleted, the newest one last.
func schemaJobs(live map[childKey]client.Object) (jobs []*batchv1.Job) {
	for _, o := range live {
		if job, ok := o.(*batchv1.Job); ok && job.DeletionTimestamp == nil && job.Labels[v1alpha1.LabelComponent] == v1alpha1.ComponentSchema {
			jobs = append(jobs, job)
		}
	}
	slices.SortFunc(jobs, func(a, b *batchv1.Job) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return jobs
}
