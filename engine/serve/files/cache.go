package files

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"varve.dev/varve/engine/serve/admission"
)

// fresh is how long a file is used without reading the samples of its day again. A client that reads
// a file in ranges mostly reads one version of it.
const fresh = time.Minute

// tooLargeError is the error of a file that is larger than a file may be.
type tooLargeError struct{ limit int64 }

// Error implements error.
func (e tooLargeError) Error() string {
	return fmt.Sprintf("the file would have more than %d MiB; read parts of the day from /api/v1/samples with format=parquet, from and to", e.limit>>20)
}

// cache keeps the files that were built last. All files that are being built, sent or kept share its
// memory. The files that one client builds and reads may have half of it.
type cache struct {
	limit int64 // bytes of memory

	mu      sync.Mutex
	entries map[key]*entry
	used    map[*entry]struct{} // entries with users, also those that are not in the cache any more
	held    int64               // bytes of the memory that are taken
	uses    int64               // counts the uses of files
}

// entry is a file, or one that is being built.
type entry struct {
	// built is closed by the goroutine that builds, after it has set file or err.
	built chan struct{}
	file  *file
	err   error

	// The lock of the cache protects the fields below.

	builder string // client of the request that builds
	began   time.Time
	lastUse int64          // of cache.uses
	memory  int64          // bytes of the file so far
	users   int            // requests that build or read the file
	clients map[string]int // users by client; those without a name have no share, and are not here
	dropped bool           // it is not in the cache any more
}

func newCache(limit int64) *cache {
	return &cache{limit: limit, entries: map[key]*entry{}, used: map[*entry]struct{}{}}
}

// get returns a file, which build builds if the cache has no fresh one. Of several requests for a
// file one builds it. The caller must call release when it does not need the file any more.
func (c *cache) get(ctx context.Context, k key, now time.Time, build func(context.Context, *content) (*file, error)) (f *file, release func(), err error) {
	client := admission.ClientOf(ctx)
	for {
		e, mine, err := c.join(k, now, client)
		if err != nil {
			return nil, nil, err
		}
		if mine {
			c.fill(ctx, k, e, build)
		}
		select {
		case <-e.built:
		case <-ctx.Done():
			c.leave(e, client)
			return nil, nil, ctx.Err()
		}
		if e.err == nil {
			return e.file, func() { c.leave(e, client) }, nil
		}
		c.leave(e, client)
		// If the client that built the file has gone, or has had its share, another one builds it.
		theirs := errors.Is(e.err, context.Canceled) || e.builder != client && errors.Is(e.err, admission.ErrFull)
		if mine || !theirs {
			return nil, nil, e.err
		}
	}
}

// join returns the entry of a file, and whether the caller must fill it. It returns an error if the client
// uses too much of the cache.
func (c *cache) join(k key, now time.Time, client string) (e *entry, mine bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uses++
	e = c.entries[k]
	if e != nil && now.Sub(e.began) >= fresh {
		c.dropLocked(k, e)
		e = nil
	}
	if mine = e == nil; mine {
		e = &entry{built: make(chan struct{}), builder: client, began: now, clients: map[string]int{}}
		c.entries[k] = e
	} else if e.clients[client] == 0 {
		if err := c.checkShareLocked(client, e.memory); err != nil {
			return nil, false, err
		}
	}
	e.users++
	if client != "" {
		e.clients[client]++
	}
	c.used[e] = struct{}{}
	e.lastUse = c.uses
	return e, mine, nil
}

// checkShareLocked returns an error if a client may not use so many more bytes.
func (c *cache) checkShareLocked(client string, more int64) error {
	if client == "" {
		return nil
	}
	for e := range c.used {
		if e.clients[client] > 0 {
			more += e.memory
		}
	}
	if more > c.limit/2 {
		return fmt.Errorf("%w: the files that you read at a time may have %d MiB", admission.ErrFull, c.limit>>21)
	}
	return nil
}

// fill builds the file of an entry. A failed entry leaves the cache.
func (c *cache) fill(ctx context.Context, k key, e *entry, build func(context.Context, *content) (*file, error)) {
	defer close(e.built)
	e.err = context.Canceled // if build panics
	client := admission.ClientOf(ctx)
	body := newContent(func() error { return c.reserve(e, client) })
	defer func() {
		if e.err == nil {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held -= e.memory
		e.memory = 0
		c.dropLocked(k, e)
	}()
	e.file, e.err = build(ctx, body)
}

// reserve takes memory for another chunk of the file that a client builds.
func (c *cache) reserve(e *entry, client string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.memory+chunkBytes > c.limit/2 {
		return tooLargeError{c.limit / 2}
	}
	if err := c.checkShareLocked(client, chunkBytes); err != nil {
		return err
	}
	for c.held+chunkBytes > c.limit {
		if !c.evictLocked() {
			return fmt.Errorf("%w: the files that are being read take %d MiB", admission.ErrFull, c.limit>>20)
		}
	}
	c.held += chunkBytes
	e.memory += chunkBytes
	return nil
}

// evictLocked drops the file that was used least recently. It reports false if all files are in use.
func (c *cache) evictLocked() bool {
	var oldest key
	var found *entry
	for k, e := range c.entries {
		if e.users == 0 && (found == nil || e.lastUse < found.lastUse) {
			oldest, found = k, e
		}
	}
	if found == nil {
		return false
	}
	c.dropLocked(oldest, found)
	return true
}

// dropLocked removes an entry from the cache. Its memory is free as soon as nobody uses it.
func (c *cache) dropLocked(k key, e *entry) {
	if e.dropped {
		return
	}
	e.dropped = true
	if c.entries[k] == e {
		delete(c.entries, k)
	}
	if e.users == 0 {
		c.freeLocked(e)
	}
}

// leave ends the use of an entry.
func (c *cache) leave(e *entry, client string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.clients[client]--; e.clients[client] <= 0 {
		delete(e.clients, client)
	}
	if e.users--; e.users > 0 {
		return
	}
	delete(c.used, e)
	if e.dropped {
		c.freeLocked(e)
	}
}

// freeLocked gives the memory of a file back.
func (c *cache) freeLocked(e *entry) {
	c.held -= e.memory
	e.memory, e.file = 0, nil
}
