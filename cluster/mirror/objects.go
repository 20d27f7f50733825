package mirror

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Objects are those of one kind, in a namespace, that have some labels, as the
// API server told last. Run brings them up to date.
type Objects[T client.Object] struct {
	client  client.WithWatch
	list    client.ObjectList
	where   []client.ListOption
	changed func()

	mu     sync.RWMutex
	synced bool
	byName map[string]T
}

// Select says which objects are mirrored. Labels must match; of those in Has any
// value does.
type Select struct {
	Namespace string
	Labels    map[string]string
	Has       []string
}

// NewObjects returns a mirror of the kind of a list. changed is called after
// each change, and must not block.
func NewObjects[T client.Object](c client.WithWatch, list client.ObjectList, sel Select, changed func()) *Objects[T] {
	return &Objects[T]{
		client: c, list: list, changed: changed, byName: map[string]T{},
		where: []client.ListOption{client.InNamespace(sel.Namespace), client.MatchingLabels(sel.Labels), client.HasLabels(sel.Has)},
	}
}

// Synced reports whether the API server ever gave a whole list.
func (o *Objects[T]) Synced() bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.synced
}

// All returns the objects by name. They are shared and must not be changed. False:
// no list came yet.
func (o *Objects[T]) All() (byName map[string]T, synced bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return maps.Clone(o.byName), o.synced
}

// The API server is asked again soon when it comes back: those who wait for a
// shard to move lose samples.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// Run follows the API server until ctx ends. Errors do not end it.
func (o *Objects[T]) Run(ctx context.Context) {
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			list := o.list.DeepCopyObject().(client.ObjectList)
			err := o.client.List(ctx, list, o.options(opts)...)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return o.client.Watch(ctx, o.list.DeepCopyObject().(client.ObjectList), o.options(opts)...)
		},
	}
	var kind T
	cache.NewReflectorWithOptions(lw, kind, reflected[T]{o}, cache.ReflectorOptions{
		Backoff: &wait.Backoff{Duration: firstRetry, Cap: lastRetry, Steps: 32, Factor: 2, Jitter: 0.5},
	}).RunWithContext(ctx)
}

func (o *Objects[T]) options(raw metav1.ListOptions) []client.ListOption {
	return append(slices.Clip(o.where), &client.ListOptions{Raw: &raw})
}

// reflected is where a reflector puts objects; it implements cache.ReflectorStore.
type reflected[T client.Object] struct{ *Objects[T] }

// Add takes an object that is new.
func (r reflected[T]) Add(obj any) error { return r.Update(obj) }

// Update takes an object that has changed.
func (r reflected[T]) Update(obj any) error {
	o := obj.(T)
	r.change(func() { r.byName[o.GetName()] = o })
	return nil
}

// Delete takes an object that is gone, or no longer has the labels.
func (r reflected[T]) Delete(obj any) error {
	r.change(func() { delete(r.byName, obj.(T).GetName()) })
	return nil
}

// Replace takes a whole list.
func (r reflected[T]) Replace(list []any, _ string) error {
	all := make(map[string]T, len(list))
	for _, obj := range list {
		o := obj.(T)
		all[o.GetName()] = o
	}
	r.change(func() { r.byName, r.synced = all, true })
	return nil
}

// Resync has nothing to do: changes are told when they come.
func (r reflected[T]) Resync() error { return nil }

func (r reflected[T]) change(f func()) {
	r.mu.Lock()
	f()
	r.mu.Unlock()
	r.changed()
}
