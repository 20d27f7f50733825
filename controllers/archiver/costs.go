package archiver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/archiverstatus"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/placement"
)

// What it costs to delete an engine pod is written coarsely: where pods are compared,
// a factor of two matters, and each write is one of a pod.
const (
	// costInterval is how often costs of an Archiver's pods are written, and costsAtOnce
	// of how many.
	costInterval = time.Minute
	costsAtOnce  = 60
	// costFactor is by how much a cost may be wrong, and costFloor, in µs of CPU per
	// second, what is nothing.
	costFactor = 1.5
	costFloor  = 100
	mostCost   = 1e9 // of int32, which Kubernetes takes
)

// podCost is a pod and what it is to say that deleting it costs.
type podCost struct {
	pod  string
	cost int64
	off  float64 // by what factor the cost is wrong that it says now
}

// writeCosts tells Kubernetes which engines have most to hand over, so that scaling down
// takes others first.
func (r *Reconciler) writeCosts(ctx context.Context, a *v1alpha1.Archiver, in *archiverstatus.Input) error {
	name := client.ObjectKeyFromObject(a)
	if _, users := a.Spec.Engines.PodAnnotations[corev1.PodDeletionCost]; users || !in.Settled || r.costs.Since(name) < costInterval {
		return nil
	}
	wrong := wrongCosts(in.Pods, in.Fleet)
	for _, c := range wrong[:min(len(wrong), costsAtOnce)] {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"annotations": map[string]string{corev1.PodDeletionCost: strconv.FormatInt(c.cost, 10)},
		}})
		if err != nil {
			return fmt.Errorf("encoding the cost of pod %s: %w", c.pod, err)
		}
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name = a.Namespace, c.pod
		err = r.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1alpha1.FieldManager))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("writing the cost of pod %s: %w", c.pod, err)
		}
		r.costs.Record(name)
	}
	return nil
}

// wrongCosts returns the engine pods whose cost is to be written, the most wrong first.
// Of an engine that does not report it stays as it is.
func wrongCosts(pods []corev1.Pod, engines []fleet.Engine) (wrong []podCost) {
	loads := map[string]float64{}
	for i := range engines {
		if e := &engines[i]; e.Report != nil && !e.Dead && !e.Leaving() {
			loads[e.Name] = loadOf(e)
		}
	}
	for i := range pods {
		load, known := loads[pods[i].Name]
		if !known {
			continue
		}
		old, err := strconv.ParseFloat(pods[i].Annotations[corev1.PodDeletionCost], 64)
		if err != nil || !(old >= 0) {
			old = 0 // as Kubernetes takes it
		}
		if off := max(load+costFloor, old+costFloor) / min(load+costFloor, old+costFloor); off > costFactor {
			wrong = append(wrong, podCost{pods[i].Name, coarse(load), off})
		}
	}
	slices.SortFunc(wrong, func(a, b podCost) int { return cmp.Or(cmp.Compare(b.off, a.off), cmp.Compare(a.pod, b.pod)) })
	return wrong
}

// loadOf is what an engine does, in µs of CPU per second.
func loadOf(e *fleet.Engine) float64 {
	var sum placement.Load
	for _, s := range e.Report.Shards {
		if s.Phase != string(v1alpha1.Drained) {
			sum.SamplesPerSecond += s.SamplesPerSecond
			sum.Channels += float64(s.Channels)
		}
	}
	return min(sum.Cost(), mostCost)
}

// coarse rounds to two digits.
func coarse(load float64) int64 {
	load = min(max(load, 0), mostCost)
	if load < 10 {
		return int64(math.Round(load))
	}
	scale := math.Pow(10, math.Floor(math.Log10(load))-1)
	return int64(math.Round(load/scale) * scale)
}
