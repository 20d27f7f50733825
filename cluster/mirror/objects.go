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

// Objects mirrors the objects of one kind in a namespace that match a selection. Run keeps
// the mirror up to date.
type Objects[T client.Object] struct {
	client  client.WithWatch
	list    client.ObjectList
	where   []client.ListOption
	changed func()
	trim    func(T) // nil: objects stay whole

	mu     sync.RWMutex
	synced bool
	byName map[string]T
	// latest is when the last message of the API server arrived. A period begins with a message, and ends when the first
	// message at least burst later begins the next one. earliest is when the present period began, and settled is what
	// Seen returned at that time. All are zero before the first message.
	latest, earliest, settled time.Time
}

// burst bounds the time between the first and the last of the messages that waited while the network was cut.
// They arrive one after another as soon as the network is back.
const burst = 5 * time.Second

// Select selects the objects to mirror. A selected object has all Labels with the given
// values, and the labels in Has with any value.
type Select struct {
	Namespace string
	Labels    map[string]string
	Has       []string
}

// NewObjects returns a mirror of objects of the list's kind. It calls changed after each
// change. changed must not block.
func NewObjects[T client.Object](c client.WithWatch, list client.ObjectList, sel Select, changed func()) *Objects[T] {
	return &Objects[T]{
		client: c, list: list, changed: changed, byName: map[string]T{},
		where: []client.ListOption{client.InNamespace(sel.Namespace), client.MatchingLabels(sel.Labels), client.HasLabels(sel.Has)},
	}
}

// Trim makes the mirror pass each object to a function that may remove parts of it, before it keeps the
// object. It must be called before Run.
func (o *Objects[T]) Trim(trim func(T)) { o.trim = trim }

// Synced reports whether the API server has ever sent a complete list.
func (o *Objects[T]) Synced() bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.synced
}

// All returns the objects by name. The caller must not change them. synced is false before
// the API server has sent a complete list.
func (o *Objects[T]) All() (byName map[string]T, synced bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return maps.Clone(o.byName), o.synced
}

// Seen returns up to which time the mirror is known to be complete: when a recent message of the API server arrived. A
// message is a change, a list or a bookmark; the API server sends a bookmark about every minute. The mirror has all changes
// from before that time, except for those that were under way. Seen returns the zero time before the first list.
//
// A message may be old: after the network was cut, the changes of several minutes arrive one after another, and the mirror
// is complete only when the last one has arrived. So Seen ignores messages that arrived less than burst ago.
func (o *Objects[T]) Seen() time.Time {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if !o.synced {
		return time.Time{}
	}
	return o.settledAt(time.Now())
}

// settledAt returns the latest of the known arrivals that is at least burst ago. The first message counts at once, because
// it is the answer to a request.
func (o *Objects[T]) settledAt(now time.Time) time.Time {
	switch {
	case now.Sub(o.latest) >= burst:
		return o.latest
	case now.Sub(o.earliest) >= burst:
		return o.earliest
	}
	return o.settled
}

// arrivedLocked notes that the API server has sent something.
func (o *Objects[T]) arrivedLocked() {
	now := time.Now()
	if o.settled.IsZero() {
		o.settled, o.earliest = now, now
	} else if now.Sub(o.earliest) >= burst {
		o.settled, o.earliest = o.settledAt(now), now
	}
	o.latest = now
}

// Retries are frequent, so that the mirror is up to date soon after the API server comes back.
// Samples may be lost while a shard waits for its move.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// Run watches the API server until ctx ends. Errors do not end it.
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

// reflected receives the objects of a reflector. It implements cache.ReflectorStore.
type reflected[T client.Object] struct{ *Objects[T] }

// Add stores a new object.
func (r reflected[T]) Add(obj any) error { return r.Update(obj) }

// Update stores a changed object.
func (r reflected[T]) Update(obj any) error {
	o := obj.(T)
	if r.trim != nil {
		r.trim(o)
	}
	r.change(func() { r.byName[o.GetName()] = o })
	return nil
}

// Delete removes an object that was deleted or no longer has the labels.
func (r reflected[T]) Delete(obj any) error {
	r.change(func() { delete(r.byName, obj.(T).GetName()) })
	return nil
}

// Replace replaces all objects.
func (r reflected[T]) Replace(list []any, _ string) error {
	all := make(map[string]T, len(list))
	for _, obj := range list {
		o := obj.(T)
		if r.trim != nil {
			r.trim(o)
		}
		all[o.GetName()] = o
	}
	r.change(func() { r.byName, r.synced = all, true })
	return nil
}

// Bookmark notes that there are no other changes.
func (r reflected[T]) Bookmark(string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arrivedLocked()
	return nil
}

// Resync does nothing: every change is reported when it arrives.
func (r reflected[T]) Resync() error { return nil }

func (r reflected[T]) change(f func()) {
	r.mu.Lock()
	f()
	r.arrivedLocked()
	r.mu.Unlock()
	r.changed()
}
