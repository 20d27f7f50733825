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
// memory.
type cache struct {
	limit int64 // bytes of memory

	mu      sync.Mutex
	entries map[key]*entry
	held    int64 // bytes of the memory that are taken
	uses    int64 // counts the uses of files
}

// entry is a file, or one that is being built.
type entry struct {
	// built is closed by the goroutine that builds, after it has set file or err.
	built chan struct{}
	file  *file
	err   error

	// The lock of the cache protects the fields below.

	began   time.Time
	lastUse int64 // of cache.uses
	users   int   // requests that build or read the file
	dropped bool  // it is not in the cache any more
}

func newCache(limit int64) *cache { return &cache{limit: limit, entries: map[key]*entry{}} }

// get returns a file, which build builds if the cache has no fresh one. Of several requests for a
// file one builds it. The caller must call release when it does not need the file any more.
func (c *cache) get(ctx context.Context, k key, now time.Time, build func(context.Context, *content) (*file, error)) (f *file, release func(), err error) {
	for {
		e, mine := c.join(k, now)
		if mine {
			c.fill(ctx, k, e, build)
		}
		select {
		case <-e.built:
		case <-ctx.Done():
			c.leave(e)
			return nil, nil, ctx.Err()
		}
		if e.err == nil {
			return e.file, func() { c.leave(e) }, nil
		}
		c.leave(e)
		// If the client that built the file has gone, another one builds it.
		if mine || !errors.Is(e.err, context.Canceled) {
			return nil, nil, e.err
		}
	}
}

// join returns the entry of a file, and whether the caller must fill it.
func (c *cache) join(k key, now time.Time) (e *entry, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uses++
	e = c.entries[k]
	if e != nil && now.Sub(e.began) >= fresh {
		c.dropLocked(k, e)
		e = nil
	}
	if mine = e == nil; mine {
		e = &entry{built: make(chan struct{}), began: now}
		c.entries[k] = e
	}
	e.users++
	e.lastUse = c.uses
	return e, mine
}

// fill builds the file of an entry. A failed entry leaves the cache.
func (c *cache) fill(ctx context.Context, k key, e *entry, build func(context.Context, *content) (*file, error)) {
	defer close(e.built)
	e.err = context.Canceled // if build panics
	body := newContent(c.reserve)
	defer func() {
		if e.err == nil {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held -= body.memory()
		c.dropLocked(k, e)
	}()
	e.file, e.err = build(ctx, body)
}

// reserve takes memory for another chunk of a content.
func (c *cache) reserve(body *content) error {
	if body.memory()+chunkBytes > c.limit/2 {
		return tooLargeError{c.limit / 2}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.held+chunkBytes > c.limit {
		if !c.evictLocked() {
			return fmt.Errorf("%w: the files that are being read take %d MiB", admission.ErrFull, c.limit>>20)
		}
	}
	c.held += chunkBytes
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
func (c *cache) leave(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.users--; e.users == 0 && e.dropped {
		c.freeLocked(e)
	}
}

// freeLocked gives the memory of a file back. That of a failed build is free already.
func (c *cache) freeLocked(e *entry) {
	if e.file != nil {
		c.held -= e.file.memory()
		e.file = nil
	}
}
