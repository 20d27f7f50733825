package shards

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/wakeup"
)

// debounceDelay is how long an event waits for more events, because `kubectl apply` of a
// folder causes hundreds of events.
const debounceDelay = 150 * time.Millisecond

// These are the indexes of groups in the cache.
const (
	indexArchiver  = "spec.archiverRef.name"
	indexConfigMap = "spec.channelsFrom.configMap.name"
)

// SetupWithManager makes the reconciler run after changes of Archivers, groups, policies and
// sources, of shards and channel lists, and of engines.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.metrics = newShardsMetrics(r.Registerer)
	if err := indexGroups(mgr.GetFieldIndexer()); err != nil {
		return err
	}
	engines := builder.WithPredicates(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return fleet.Differs(e.ObjectOld.(*corev1.Pod), e.ObjectNew.(*corev1.Pod))
	}})
	return ctrl.NewControllerManagedBy(mgr).
		Named("archiveshard").
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		Watches(&v1alpha1.Archiver{}, debounced(archiverItself), builder.WithPredicates(specOrDeletion)).
		Watches(&v1alpha1.ArchiveGroup{}, debounced(archiverOfGroup), builder.WithPredicates(specOrDeletion)).
		Watches(&corev1.ConfigMap{}, debounced(r.archiversUsing)).
		Watches(&v1alpha1.ArchiveShard{}, debounced(wakeup.ArchiverOf)).
		Watches(&corev1.Pod{}, debounced(wakeup.ArchiverOf), engines).
		WatchesRawSource(wakeup.Late(mgr.GetCache(), &v1alpha1.ArchivePolicy{}, debounced(archiverOfPolicy), specOrDeletion)).
		WatchesRawSource(r.answers.Source(wakeup.Archiver)).
		WatchesRawSource(r.Fleet.Changes(wakeup.Archiver)).
		Complete(r)
}

// specOrDeletion passes changes of the spec, of the deletion time and of the finalizers, but
// not of the status.
var specOrDeletion = predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	old, now := e.ObjectOld, e.ObjectNew
	return (old.GetDeletionTimestamp() == nil) != (now.GetDeletionTimestamp() == nil) ||
		len(old.GetFinalizers()) != len(now.GetFinalizers())
}})

// ChannelFinderChanged wakes the Archivers whose groups use a query that has a new
// answer. It does not block.
func (r *Reconciler) ChannelFinderChanged(url, query string) {
	var groups v1alpha1.ArchiveGroupList
	if err := r.Client.List(context.Background(), &groups, client.UnsafeDisableDeepCopy); err != nil {
		return // without a cache, no compilation has used an old answer
	}
	for i := range groups.Items {
		for _, s := range groups.Items[i].Spec.ChannelsFrom {
			if s.ChannelFinder != nil && s.ChannelFinder.URL == url && s.ChannelFinder.Query == query {
				r.answers.Wake(wakeup.ArchiverOfGroup(&groups.Items[i]))
			}
		}
	}
}

// indexGroups adds indexes to the cache, to find groups by Archiver and by ConfigMap.
func indexGroups(indexer client.FieldIndexer) error {
	for field, values := range map[string]func(*v1alpha1.ArchiveGroup) []string{
		indexArchiver: func(g *v1alpha1.ArchiveGroup) []string { return []string{g.Spec.ArchiverRef.Name} },
		indexConfigMap: func(g *v1alpha1.ArchiveGroup) (names []string) {
			for _, s := range g.Spec.ChannelsFrom {
				if s.ConfigMap != nil {
					names = append(names, s.ConfigMap.Name)
				}
			}
			return names
		},
	} {
		index := func(o client.Object) []string { return values(o.(*v1alpha1.ArchiveGroup)) }
		if err := indexer.IndexField(context.Background(), &v1alpha1.ArchiveGroup{}, field, index); err != nil {
			return err
		}
	}
	return nil
}

// archiversUsing returns requests for the Archivers that use a ConfigMap, either as a channel
// list or as a source of a group.
func (r *Reconciler) archiversUsing(ctx context.Context, o client.Object) []reconcile.Request {
	if o.GetLabels()[v1alpha1.LabelChannels] == v1alpha1.ChannelList {
		return wakeup.ArchiverOf(ctx, o)
	}
	var groups v1alpha1.ArchiveGroupList
	err := r.Client.List(ctx, &groups, client.InNamespace(o.GetNamespace()), client.MatchingFields{indexConfigMap: o.GetName()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing groups failed")
		return nil
	}
	var requests []reconcile.Request
	for i := range groups.Items {
		requests = append(requests, reconcile.Request{NamespacedName: wakeup.ArchiverOfGroup(&groups.Items[i])})
	}
	return requests
}

// archiverItself returns a request for an Archiver that has changed.
func archiverItself(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
}

// archiverOfGroup returns a request for the Archiver of a group that has changed.
func archiverOfGroup(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: wakeup.ArchiverOfGroup(o.(*v1alpha1.ArchiveGroup))}}
}

// archiverOfPolicy returns a request for the Archiver of a policy that has changed.
func archiverOfPolicy(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{
		Namespace: o.GetNamespace(), Name: o.(*v1alpha1.ArchivePolicy).Spec.ArchiverRef.Name,
	}}}
}

// debounced turns a burst of events into one request. It maps both versions of a changed
// object, because the object may have moved from one Archiver to another.
func debounced(requests handler.MapFunc) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(ctx context.Context, q queue, objects ...client.Object) {
		seen := map[types.NamespacedName]bool{}
		for _, o := range objects {
			for _, req := range requests(ctx, o) {
				if !seen[req.NamespacedName] {
					seen[req.NamespacedName] = true
					q.AddAfter(req, debounceDelay)
				}
			}
		}
	}
	return handler.Funcs{
		CreateFunc:  func(ctx context.Context, e event.CreateEvent, q queue) { add(ctx, q, e.Object) },
		UpdateFunc:  func(ctx context.Context, e event.UpdateEvent, q queue) { add(ctx, q, e.ObjectOld, e.ObjectNew) },
		DeleteFunc:  func(ctx context.Context, e event.DeleteEvent, q queue) { add(ctx, q, e.Object) },
		GenericFunc: func(ctx context.Context, e event.GenericEvent, q queue) { add(ctx, q, e.Object) },
	}
}
