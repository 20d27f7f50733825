package shards

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/channellist"
	"varve.dev/varve/groups/compile"
	"varve.dev/varve/groups/sources"
)

// sourceReader reads the sources of groups, each once per compilation.
type sourceReader struct {
	ctx        context.Context
	reconciler *Reconciler
	in         *observed

	configMaps map[types.NamespacedName]configMapRead
	// captured has the PVs of each group that shards capture now. It is nil until a source is
	// missing and its group needs them.
	captured map[string][]string
	// unreadable has the shards with lists that cannot be read.
	unreadable    map[int]bool
	sourceMissing bool
	// err is the first error of the API server.
	err error
}

type configMapRead struct {
	object *corev1.ConfigMap
	state  sources.State
}

func (r *Reconciler) newSourceReader(ctx context.Context, in *observed) *sourceReader {
	return &sourceReader{ctx: ctx, reconciler: r, in: in, configMaps: map[types.NamespacedName]configMapRead{}, unreadable: map[int]bool{}}
}

func (r *sourceReader) lookup() sources.Lookup {
	return sources.Lookup{ConfigMap: r.configMap, ChannelFinder: r.reconciler.ChannelFinder.Names, Held: r.capturedBy}
}

// configMap returns a ConfigMap. A ConfigMap that is not in the cache either lacks the label
// of channel sources or does not exist. A request to the API server distinguishes the two
// cases.
func (r *sourceReader) configMap(namespace, name string) (*corev1.ConfigMap, sources.State) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if s, done := r.configMaps[key]; done {
		return s.object, s.state
	}
	s := configMapRead{object: &corev1.ConfigMap{}, state: sources.Found}
	err := r.reconciler.Client.Get(r.ctx, key, s.object, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		r.sourceMissing = true
		meta := &metav1.PartialObjectMetadata{}
		meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		err, s.state = r.reconciler.API.Get(r.ctx, key, meta), sources.Unlabelled
		if apierrors.IsNotFound(err) {
			err, s.state = nil, sources.Missing
		}
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("getting ConfigMap %s: %w", key, err)
	}
	r.configMaps[key] = s
	return s.object, s.state
}

// capturedBy returns the PVs of a group in the current channel lists.
func (r *sourceReader) capturedBy(group string) []string {
	if r.captured == nil {
		r.captured = map[string][]string{}
		for index := range r.in.maxShards() {
			if r.in.shards[index] == nil && !r.reconciler.Fleet.Synced() {
				r.unreadable[index] = true // an engine may still capture it
			}
			for _, name := range r.in.listsInForce(index) {
				r.readList(index, name)
			}
		}
	}
	return r.captured[group]
}

// readList adds the PVs of one channel list to captured.
func (r *sourceReader) readList(index int, name string) {
	list := r.in.lists[name]
	if list == nil {
		r.unreadable[index] = true
		return
	}
	channels, err := channellist.Decode(list.BinaryData[v1alpha1.ChannelListKey])
	if err != nil {
		r.unreadable[index] = true
		return
	}
	for _, ch := range channels {
		r.captured[ch.Group] = append(r.captured[ch.Group], compile.Name(&ch))
	}
}

// listsInForce returns the names of a shard's current lists, including deletions. If the
// ArchiveShard was lost, these are the lists that engines report for the shard.
func (in *observed) listsInForce(index int) (names []string) {
	names = in.capturedLists(index)
	if s := in.shards[index]; s != nil {
		for _, l := range s.Spec.Deletions {
			names = append(names, l.Name)
		}
	}
	return names
}

// capturedLists returns the names of the lists that a shard captures, including leaving lists.
func (in *observed) capturedLists(index int) (names []string) {
	if s := in.shards[index]; s != nil {
		for _, l := range s.Spec.Lists {
			names = append(names, l.Name)
		}
		return names
	}
	for _, e := range in.engines {
		if e.Report == nil {
			continue
		}
		for _, s := range e.Report.Shards {
			if s.Index == index {
				names = append(names, s.Lists...)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
