package through

import (
	"context"
	"sync"
	"time"

	"varve.dev/varve/engine/query"
)

// How long the cached knowledge of a PV is used. A PV that becomes known must be found soon.
const (
	knownFor   = 10 * time.Minute
	unknownFor = time.Minute
	// maxPVs is the number of PVs in the cache.
	maxPVs = 1 << 14
)

// knowledge is a cache of what the older archive knows of PVs. The zero value is ready to use.
type knowledge struct {
	mu  sync.Mutex
	pvs map[string]known
}

type known struct {
	query.Outside
	until time.Time
}

func (k *knowledge) get(pv string, now time.Time) (query.Outside, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, found := k.pvs[pv]
	return o.Outside, found && now.Before(o.until)
}

func (k *knowledge) put(pv string, o query.Outside, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pvs == nil {
		k.pvs = map[string]known{}
	}
	for old := range k.pvs {
		if len(k.pvs) < maxPVs {
			break
		}
		delete(k.pvs, old)
	}
	until := now.Add(unknownFor)
	if o.Known {
		until = now.Add(knownFor)
	}
	k.pvs[pv] = known{o, until}
}

// shared lets requests for the same PV wait for one answer of the older archive. It ends a request for which nobody
// waits.
type shared struct {
	owner *owner

	mu  sync.Mutex
	pvs map[string]*flight
}

// flight is a request that several readers may wait for. done is closed after o or err is set.
type flight struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int // protected by shared.mu
	o       query.Outside
	err     error
}

// ask is a function that asks the older archive for a PV.
type ask func(ctx context.Context, pv string) (query.Outside, error)

// alone asks in the request itself.
func alone(ctx context.Context, pv string, do ask) (query.Outside, error) { return do(ctx, pv) }

// get runs do once for all requests that wait for the same PV, and returns its result to each of them.
func (s *shared) get(ctx context.Context, pv string, do ask) (query.Outside, error) {
	f := s.join(pv, do)
	if f == nil {
		return query.Outside{}, errClosed
	}
	select {
	case <-f.done:
		return f.o, f.err
	case <-ctx.Done():
		s.leave(pv, f)
		return query.Outside{}, ctx.Err()
	}
}

// join returns the flight of a PV, and begins one if there is none. After the owner has been closed, it returns nil.
func (s *shared) join(pv string, do ask) *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.pvs[pv]
	if f == nil {
		f = &flight{done: make(chan struct{})}
		ctx, cancel := context.WithCancel(s.owner.ctx)
		f.cancel = cancel
		if !s.owner.run(func(context.Context) { s.fly(ctx, pv, f, do) }) {
			cancel()
			return nil
		}
		s.pvs[pv] = f
	}
	f.waiting++
	return f
}

func (s *shared) fly(ctx context.Context, pv string, f *flight, do ask) {
	defer close(f.done)
	defer f.cancel()
	f.o, f.err = do(ctx, pv)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pvs[pv] == f {
		delete(s.pvs, pv)
	}
}

// leave says that a reader no longer waits.
func (s *shared) leave(pv string, f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.waiting--
	if f.waiting > 0 {
		return
	}
	f.cancel()
	if s.pvs[pv] == f {
		delete(s.pvs, pv)
	}
}
