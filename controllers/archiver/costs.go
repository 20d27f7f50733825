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

// The operator rounds the deletion cost of an engine pod coarsely, because each change is a
// write. Kubernetes only compares the costs of pods, so differences smaller than a factor of
// two do not matter.
const (
	// costInterval is how often the costs of an Archiver's pods are written. costsAtOnce is
	// how many costs are written at a time.
	costInterval = time.Minute
	costsAtOnce  = 60
	// costFactor is the factor by which a cost may be wrong before it is written again.
	costFactor = 1.5
	// costFloor, in µs of CPU per second, is a load that does not matter.
	costFloor = 100
	// maxCost is the highest cost. Kubernetes accepts an int32.
	maxCost = 1e9
)

// podCost is the deletion cost that a pod should have.
type podCost struct {
	pod  string
	cost int64
	off  float64 // the factor by which the pod's current cost is wrong
}

// writeCosts sets the deletion cost of engine pods to their load. When Kubernetes scales down,
// it first deletes the pods with the lowest cost. These pods have the least load to hand over.
func (r *Reconciler) writeCosts(ctx context.Context, a *v1alpha1.Archiver, in *archiverstatus.Input) error {
	name := client.ObjectKeyFromObject(a)
	if _, users := a.Spec.Engines.PodAnnotations[corev1.PodDeletionCost]; users || !in.Synced || r.costs.Since(name) < costInterval {
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

// wrongCosts returns the engine pods whose cost must be written, the most wrong first. The
// cost of an engine that does not report does not change.
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
			old = 0 // the cost that Kubernetes assumes then
		}
		if off := max(load+costFloor, old+costFloor) / min(load+costFloor, old+costFloor); off > costFactor {
			wrong = append(wrong, podCost{pods[i].Name, coarse(load), off})
		}
	}
	slices.SortFunc(wrong, func(a, b podCost) int { return cmp.Or(cmp.Compare(b.off, a.off), cmp.Compare(a.pod, b.pod)) })
	return wrong
}

// loadOf returns the estimated load of an engine, in µs of CPU per second.
func loadOf(e *fleet.Engine) float64 {
	var sum placement.Load
	for _, s := range e.Report.Shards {
		if s.Phase != string(v1alpha1.Drained) {
			sum.SamplesPerSecond += s.SamplesPerSecond
			sum.Channels += float64(s.Channels)
		}
	}
	return min(sum.Cost(), maxCost)
}

// coarse rounds to two digits.
func coarse(load float64) int64 {
	load = min(max(load, 0), maxCost)
	if load < 10 {
		return int64(math.Round(load))
	}
	scale := math.Pow(10, math.Floor(math.Log10(load))-1)
	return int64(math.Round(load/scale) * scale)
}
