package shards

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// writeShards writes the shards that differ from the wanted shards.
func (r *Reconciler) writeShards(ctx context.Context, in *observed, compiled *compilation, engines orders, own *ownWrites) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writesAtOnce)
	for i := range compiled.shards {
		order, exists := engines[i]
		if !exists {
			continue
		}
		wanted := in.wantedShard(i, &compiled.shards[i], order)
		if in.shardIsCurrent(wanted) || in.shards[i] == nil && compiled.shards[i].unknown() {
			continue
		}
		g.Go(func() error {
			version, err := r.writeShard(ctx, in.shards[i], wanted)
			if err != nil {
				return fmt.Errorf("writing shard %s: %w", wanted.Name, err)
			}
			own.record(i, version)
			r.metrics.shards.Inc()
			return nil
		})
	}
	return g.Wait()
}

// wantedShard returns the wanted state of an ArchiveShard.
func (in *observed) wantedShard(index int, s *compiledShard, engines []v1alpha1.ShardEngine) *v1alpha1.ArchiveShard {
	labels := map[string]string{v1alpha1.LabelArchiver: in.archiver.Name, v1alpha1.LabelManagedBy: render.ManagedBy}
	for _, e := range engines {
		labels[v1alpha1.EngineLabel(e.Name)] = ""
	}
	return &v1alpha1.ArchiveShard{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindArchiveShard},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in.archiver.Namespace, Name: shardName(in.archiver.Name, index), Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(in.archiver, v1alpha1.GroupVersion.WithKind(v1alpha1.KindArchiver))},
		},
		Spec: v1alpha1.ArchiveShardSpec{
			ArchiverRef: v1alpha1.ArchiverReference{Name: in.archiver.Name},
			Index:       new(int32(index)),
			Engines:     engines,
			Channels:    int32(s.channels),
			Lists:       s.references(),
			Former:      s.former,
			Deletions:   references(s.deletions),
			Erasures:    s.erasures,
		},
	}
}

func references(names []string) (out []v1alpha1.ChannelListReference) {
	for _, name := range names {
		out = append(out, v1alpha1.ChannelListReference{Name: name})
	}
	return out
}

// shardIsCurrent reports whether an ArchiveShard exists and equals the wanted one.
func (in *observed) shardIsCurrent(wanted *v1alpha1.ArchiveShard) bool {
	have := in.shards[int(*wanted.Spec.Index)]
	return have != nil && have.DeletionTimestamp == nil && metav1.IsControlledBy(have, in.archiver) &&
		equality.Semantic.DeepEqual(have.Spec, wanted.Spec) && maps.Equal(ourLabels(have), wanted.Labels)
}

// ourLabels returns the labels that engines and the operator read: the operator's labels, and
// every label that names an engine.
func ourLabels(s *v1alpha1.ArchiveShard) map[string]string {
	out := map[string]string{}
	for key, value := range s.Labels {
		if key == v1alpha1.LabelArchiver || key == v1alpha1.LabelManagedBy || strings.HasPrefix(key, v1alpha1.EngineLabelPrefix) {
			out[key] = value
		}
	}
	return out
}

// writeShard writes an ArchiveShard and returns its resource version.
func (r *Reconciler) writeShard(ctx context.Context, have, wanted *v1alpha1.ArchiveShard) (version string, err error) {
	if have != nil && editedByOthers(have) {
		if err := r.takeOver(ctx, have, wanted); err != nil {
			return "", err
		}
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return "", err
	}
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	u := &unstructured.Unstructured{Object: fields}
	err = r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(v1alpha1.FieldManager), client.ForceOwnership)
	return u.GetResourceVersion(), err
}

// editedByOthers reports whether another client owns fields of a shard. Server-side apply
// would not remove the list items that this client added.
func editedByOthers(s *v1alpha1.ArchiveShard) bool {
	return slices.ContainsFunc(s.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return f.Subresource == "" && f.Manager != v1alpha1.FieldManager
	})
}

// takeOver replaces the spec of a shard and removes the owners of its fields.
func (r *Reconciler) takeOver(ctx context.Context, have, wanted *v1alpha1.ArchiveShard) error {
	next := have.DeepCopy()
	next.Spec = wanted.Spec
	maps.DeleteFunc(next.Labels, func(key, _ string) bool { return strings.HasPrefix(key, v1alpha1.EngineLabelPrefix) })
	next.ManagedFields = []metav1.ManagedFieldsEntry{{}} // no field has an owner
	return r.Client.Update(ctx, next, client.FieldOwner(v1alpha1.FieldManager))
}
