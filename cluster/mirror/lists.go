package mirror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/channellist"
)

// Reasons why a list cannot be used. The texts never vary, so they can be written into a
// status.
var (
	ErrNoList      = errors.New("the ConfigMap does not exist")
	ErrNotAsNamed  = errors.New("the content of the ConfigMap does not match the hash in its name")
	ErrUnreachable = errors.New("the API server cannot be reached or refuses the request")
)

// ReadList reads the encoded bytes of a channel list, and checks them against the hash in its name.
func ReadList(ctx context.Context, c client.Reader, namespace, name string) ([]byte, error) {
	var cm corev1.ConfigMap
	switch err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &cm); {
	case apierrors.IsNotFound(err):
		return nil, ErrNoList
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	data := cm.BinaryData[v1alpha1.ChannelListKey]
	if !Named(name, data) {
		return nil, ErrNotAsNamed
	}
	return data, nil
}

// Named reports whether data matches the hash in the name of a list.
func Named(name string, data []byte) bool {
	return len(data) > 0 && strings.HasSuffix(name, "-"+channellist.Hash(data))
}

// Lists mirrors channel lists. It reads each wanted list once and keeps it until it is no
// longer wanted. It retries lists that cannot be read.
type Lists[V any] struct {
	client    client.Reader
	namespace string
	decode    func(data []byte) (V, error)
	changed   func()
	log       *slog.Logger
	queue     workqueue.TypedRateLimitingInterface[string]

	mu   sync.RWMutex
	have map[string]*entry[V] // all wanted lists, by name
}

type entry[V any] struct {
	read  bool
	value V
	err   error // of the last attempt; nil before the first one
}

// Limits of the readers.
const (
	readers     = 4
	readTimeout = 10 * time.Second
	firstReread = 500 * time.Millisecond
	lastReread  = 15 * time.Second
)

// NewLists returns a mirror of channel lists in a namespace. It calls changed when it has
// read a list, and when reading a list fails for the first time. changed must not block.
func NewLists[V any](c client.Reader, namespace string, decode func([]byte) (V, error), changed func(), log *slog.Logger) *Lists[V] {
	return &Lists[V]{
		client: c, namespace: namespace, decode: decode, changed: changed, log: log, have: map[string]*entry[V]{},
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstReread, lastReread)),
	}
}

// Want sets the wanted lists. Run reads new ones; lists that are no longer wanted are forgotten.
func (l *Lists[V]) Want(names map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.have {
		if !names[name] {
			delete(l.have, name)
		}
	}
	for name := range names {
		if l.have[name] == nil {
			l.have[name] = &entry[V]{}
			l.queue.Add(name)
		}
	}
}

// Put adds a list that was read elsewhere.
func (l *Lists[V]) Put(name string, value V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.have[name] = &entry[V]{read: true, value: value}
}

// Get returns a list. If ok is false, the list has not been read yet; err is then the error
// of the last attempt, or nil if there was none.
func (l *Lists[V]) Get(name string) (value V, ok bool, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	e := l.have[name]
	if e == nil {
		return value, false, nil
	}
	return e.value, e.read, e.err
}

// Run reads lists until ctx ends.
func (l *Lists[V]) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for {
				name, end := l.queue.Get()
				if end {
					return
				}
				l.tryRead(ctx, name)
				l.queue.Done(name)
			}
		})
	}
	<-ctx.Done()
	l.queue.ShutDown()
	wg.Wait()
}

// tryRead tries to read one list. It queues the list again if that fails.
func (l *Lists[V]) tryRead(ctx context.Context, name string) {
	l.mu.RLock()
	e := l.have[name]
	l.mu.RUnlock()
	if e == nil || e.read || ctx.Err() != nil {
		l.queue.Forget(name)
		return
	}
	value, err := l.readOne(ctx, name)
	l.mu.Lock()
	isChange := err == nil || e.err == nil
	if err == nil {
		e.value, e.read = value, true
	}
	e.err = err
	l.mu.Unlock()
	if err == nil {
		l.queue.Forget(name)
	} else {
		l.queue.AddRateLimited(name)
		l.log.Warn("reading a channel list failed", "list", name, "err", err)
	}
	if isChange {
		l.changed()
	}
}

func (l *Lists[V]) readOne(ctx context.Context, name string) (value V, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	data, err := ReadList(ctx, l.client, l.namespace, name)
	if err != nil {
		return value, err
	}
	return l.decode(data)
}
