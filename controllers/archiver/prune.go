package archiver

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// prune deletes objects that are no longer wanted. It never deletes volumes.
func prune(ctx context.Context, from client.Client, now staged, live map[childKey]client.Object) error {
	keep := map[childKey]bool{}
	for _, o := range now.wanted {
		keep[keyOf(o)] = true
	}
	for _, k := range now.keep {
		keep[k] = true
	}
	for key, o := range live {
		if keep[key] || key.kind == kindVolumeClaim || o.GetDeletionTimestamp() != nil {
			continue
		}
		uid := o.GetUID()
		err := from.Delete(ctx, o, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %s: %w", key, err)
		}
		ctrl.LoggerFrom(ctx).Info("deleted object that is no longer needed", "object", key.String())
	}
	return nil
}
