package shards

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// writesAtOnce is how many objects are written at the same time.
const writesAtOnce = 16

// hasList reports whether a channel list exists, is immutable and belongs to the Archiver. Its
// content needs no check, because the name is the hash of the content.
func (in *observed) hasList(name string) bool {
	have := in.lists[name]
	return have != nil && have.DeletionTimestamp == nil &&
		have.Immutable != nil && *have.Immutable && metav1.IsControlledBy(have, in.archiver)
}

// writeLists writes the channel lists that do not exist yet.
func (r *Reconciler) writeLists(ctx context.Context, in *observed, compiled *compilation) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writesAtOnce)
	for _, name := range slices.Sorted(maps.Keys(compiled.data)) {
		if in.hasList(name) {
			continue
		}
		g.Go(func() error {
			if err := r.writeList(ctx, in, name, compiled.data[name]); err != nil {
				return fmt.Errorf("writing channel list %s: %w", name, err)
			}
			r.metrics.lists.Inc()
			return nil
		})
	}
	return g.Wait()
}

// writeList writes a channel list. It replaces an immutable ConfigMap of this name that
// another client created.
func (r *Reconciler) writeList(ctx context.Context, in *observed, name string, data []byte) error {
	list := corev1apply.ConfigMap(name, in.archiver.Namespace).
		WithLabels(map[string]string{
			v1alpha1.LabelChannels: v1alpha1.ChannelList, v1alpha1.LabelArchiver: in.archiver.Name,
			v1alpha1.LabelManagedBy: render.ManagedBy,
		}).
		WithOwnerReferences(in.owner()).
		WithImmutable(true).
		WithBinaryData(map[string][]byte{v1alpha1.ChannelListKey: data})
	err := r.Client.Apply(ctx, list, client.FieldOwner(v1alpha1.FieldManager), client.ForceOwnership)
	if !apierrors.IsInvalid(err) {
		return err
	}
	wrong := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: in.archiver.Namespace, Name: name}}
	if err := r.Client.Delete(ctx, wrong); client.IgnoreNotFound(err) != nil {
		return err
	}
	return r.Client.Apply(ctx, list, client.FieldOwner(v1alpha1.FieldManager), client.ForceOwnership)
}

// owner returns a reference that makes the Archiver the controller of an object.
func (in *observed) owner() *metav1apply.OwnerReferenceApplyConfiguration {
	return metav1apply.OwnerReference().
		WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind(v1alpha1.KindArchiver).
		WithName(in.archiver.Name).WithUID(in.archiver.UID).
		WithController(true).WithBlockOwnerDeletion(true)
}
