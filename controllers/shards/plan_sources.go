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

// reader reads the sources of groups, each once per compilation.
type reader struct {
	ctx        context.Context
	reconciler *Reconciler
	in         *observed

	configMaps map[types.NamespacedName]configMapRead
	held       map[string][]string // PVs by group; nil: not asked for
	lost       map[int]bool        // shards with lists that could not be read
	absent     bool                // some source is not there
	err        error               // of the API server
}

type configMapRead struct {
	object *corev1.ConfigMap
	state  sources.State
}

func (r *Reconciler) newReader(ctx context.Context, in *observed) *reader {
	return &reader{ctx: ctx, reconciler: r, in: in, configMaps: map[types.NamespacedName]configMapRead{}, lost: map[int]bool{}}
}

func (r *reader) lookup() sources.Lookup {
	return sources.Lookup{ConfigMap: r.configMap, ChannelFinder: r.reconciler.ChannelFinder.Names, Held: r.heldBy}
}

// configMap returns a ConfigMap. One that is not in the cache has no label, or is
// missing; the API server knows.
func (r *reader) configMap(namespace, name string) (*corev1.ConfigMap, sources.State) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if s, done := r.configMaps[key]; done {
		return s.object, s.state
	}
	s := configMapRead{object: &corev1.ConfigMap{}, state: sources.Found}
	err := r.reconciler.Client.Get(r.ctx, key, s.object, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		r.absent = true
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

// heldBy returns what the channel lists in force have of a group.
func (r *reader) heldBy(group string) []string {
	if r.held == nil {
		r.held = map[string][]string{}
		for index := range r.in.places() {
			if r.in.shards[index] == nil && !r.reconciler.Fleet.Synced() {
				r.lost[index] = true // an engine may have it
			}
			for _, name := range r.in.listsInForce(index) {
				r.hold(index, name)
			}
		}
	}
	return r.held[group]
}

func (r *reader) hold(index int, name string) {
	list := r.in.lists[name]
	if list == nil {
		r.lost[index] = true
		return
	}
	channels, err := channellist.Decode(list.BinaryData[v1alpha1.ChannelListKey])
	if err != nil {
		r.lost[index] = true
		return
	}
	for _, ch := range channels {
		r.held[ch.Group] = append(r.held[ch.Group], compile.Name(&ch))
	}
}

// listsInForce returns the names of a shard's lists, also those of deletions. If the shard was
// lost these are the lists that engines report to capture.
func (in *observed) listsInForce(index int) (names []string) {
	names = in.capturedLists(index)
	if s := in.shards[index]; s != nil {
		for _, l := range s.Spec.Deletions {
			names = append(names, l.Name)
		}
	}
	return names
}

// capturedLists returns the names of the lists that a shard captures, also of those
// that are leaving.
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
