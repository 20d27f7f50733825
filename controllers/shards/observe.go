package shards

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/fleet"
)

// observed is an Archiver and the objects that belong to it. The cache owns these objects, so
// they must not be changed.
type observed struct {
	archiver *v1alpha1.Archiver // nil if it does not exist or is being deleted
	groups   []v1alpha1.ArchiveGroup
	policies []v1alpha1.ArchivePolicy // of the Archiver
	// policiesUnknown is set if there is no CRD of ArchivePolicies.
	policiesUnknown bool
	shards          map[int]*v1alpha1.ArchiveShard
	stray           []*v1alpha1.ArchiveShard     // shards whose index or name is wrong
	lists           map[string]*corev1.ConfigMap // channel lists by name
	engines         []fleet.Engine
}

// observe gathers an Archiver, its groups, its shards, its channel lists and its
// engines. If the Archiver is gone, it gathers only the groups.
func (r *Reconciler) observe(ctx context.Context, name types.NamespacedName) (*observed, error) {
	in := &observed{shards: map[int]*v1alpha1.ArchiveShard{}, lists: map[string]*corev1.ConfigMap{}}
	var groups v1alpha1.ArchiveGroupList
	err := r.Client.List(ctx, &groups, client.InNamespace(name.Namespace), client.MatchingFields{indexArchiver: name.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing groups: %w", err)
	}
	in.groups = groups.Items
	a := &v1alpha1.Archiver{}
	switch err := r.Client.Get(ctx, name, a); {
	case apierrors.IsNotFound(err):
		return in, nil
	case err != nil:
		return nil, fmt.Errorf("getting the Archiver: %w", err)
	case a.DeletionTimestamp != nil:
		return in, nil // the garbage collector deletes what the Archiver owns
	}
	in.archiver = a
	if err := r.observePolicies(ctx, in); err != nil {
		return nil, err
	}
	if err := r.observeOwned(ctx, in); err != nil {
		return nil, err
	}
	if in.engines, err = r.Fleet.Engines(ctx, name); err != nil {
		return nil, fmt.Errorf("listing engines: %w", err)
	}
	return in, nil
}

// observeOwned gathers the shards and channel lists that exist.
func (r *Reconciler) observeOwned(ctx context.Context, in *observed) error {
	ours := []client.ListOption{
		client.InNamespace(in.archiver.Namespace),
		client.MatchingLabels{v1alpha1.LabelArchiver: in.archiver.Name},
		client.UnsafeDisableDeepCopy,
	}
	var shards v1alpha1.ArchiveShardList
	if err := r.Client.List(ctx, &shards, ours...); err != nil {
		return fmt.Errorf("listing shards: %w", err)
	}
	for i := range shards.Items {
		s := &shards.Items[i]
		index := -1
		if s.Spec.Index != nil {
			index = int(*s.Spec.Index)
		}
		if index < 0 || index >= in.maxShards() || s.Name != shardName(in.archiver.Name, index) {
			in.stray = append(in.stray, s)
			continue
		}
		in.shards[index] = s
	}
	var lists corev1.ConfigMapList
	if err := r.Client.List(ctx, &lists, append(ours, client.MatchingLabels{v1alpha1.LabelChannels: v1alpha1.ChannelList})...); err != nil {
		return fmt.Errorf("listing channel lists: %w", err)
	}
	for i := range lists.Items {
		in.lists[lists.Items[i].Name] = &lists.Items[i]
	}
	return nil
}

// listName returns the name of the ConfigMap of a channel list.
func listName(archiver, hash string) string { return archiver + "-" + hash }

// shardName returns the name of an ArchiveShard.
func shardName(archiver string, index int) string { return fmt.Sprintf("%s-%04d", archiver, index) }

// groupName returns the name of a group in compilations and in reports of engines.
func groupName(g *v1alpha1.ArchiveGroup) string { return g.Namespace + "/" + g.Name }
