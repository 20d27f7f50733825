// Package status writes the status of objects and records events of its changes. The pure
// packages archiverstatus and groupstatus compute these statuses, with the sums of package
// figures.
//
//	archiverstatus, groupstatus ── Changed (with Pace) ──▶ Patch ──▶ RecordTransitions
package status

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
)

// Patch writes the status of an object. old is the object before its status changed.
// Patch returns false if the object no longer exists.
func Patch(ctx context.Context, to client.Client, old, changed client.Object) (written bool, err error) {
	err = to.Status().Patch(ctx, changed, client.MergeFrom(old), client.FieldOwner(v1alpha1.FieldManager))
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("writing the status: %w", err)
	}
	return true, nil
}
