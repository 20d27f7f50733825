package nameindex

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/store"
)

// Store is the part of a store that an Index needs.
type Store interface {
	Channel(ctx context.Context, pv string) (c store.Channel, found bool, err error)
	Channels(ctx context.Context) iter.Seq2[store.Channel, error]
}

// Captured are the PVs that are being captured. The directory may not know them yet.
type Captured interface {
	// Names yields the PVs, in no particular order.
	Names() iter.Seq[string]
	// Captures reports whether a PV is one of them.
	Captures(pv string) bool
	// NamesVersion is another number after each change of the set of these PVs.
	NamesVersion() uint64
}

const (
	// MaxAge is the maximum age of the names of a large directory whose store does not report changes.
	MaxAge = 5 * time.Minute
	// readEvery is how often Run reads these names again, and readShare is how many times longer Run waits than reading takes.
	readEvery = time.Minute
	readShare = 20
	// retryAfter is how long Run waits after an error.
	retryAfter = 10 * time.Second
	// small is the number of names of a directory that each search reads again if its store does not report changes.
	small = 10_000
	// maxChanges is how many changes of the directory are held. The names are read again after more changes.
	maxChanges = 1 << 16
)

// Config configures an Index.
type Config struct {
	// Store has the directory. If it is a store.DirectoryReporter, it reports changes to the Index from now on.
	Store Store
	// Captured may be nil.
	Captured Captured
	Log      *slog.Logger
}

// Index has the names of all PVs of an archive. Its methods are safe for concurrent use.
type Index struct {
	cfg      Config
	reported bool // the store reports changes

	turn chan struct{} // a semaphore of capacity 1, held while a view is made; never closed
	held atomic.Pointer[held]

	mu       sync.Mutex
	changed  map[string]struct{} // directory entries that have changed and that held may not have
	overflow bool                // there were too many changes
	updating bool                // a view is being made
}

// held is a view, and how it was made.
type held struct {
	View
	dir     *list         // names in the directory; all is the same list if it has the captured PVs, too
	version uint64        // of the captured PVs
	checked time.Time     // all has what was captured then, and in the directory if its store reports changes
	read    time.Time     // when a reading of the directory began
	took    time.Duration // how long that reading took
}

// New returns an index that knows no names yet. The first search reads them, or Run.
func New(cfg Config) *Index {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	x := &Index{cfg: cfg, turn: make(chan struct{}, 1), changed: map[string]struct{}{}}
	if r, ok := cfg.Store.(store.DirectoryReporter); ok {
		x.reported = true
		r.ReportDirectory(x.note)
	}
	return x
}

// note notes that the directory entry of a PV was added or changed, or deleted.
func (x *Index) note(pv string, deleted bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	h := x.held.Load()
	switch {
	case h == nil && !x.updating: // the first view reads all names
	case !deleted && !x.updating && h.dir.has(pv): // sealers add to the entry of each PV again and again
	case len(x.changed) >= maxChanges:
		x.overflow = true
	default:
		x.changed[pv] = struct{}{}
	}
}

// View returns all names. The package comment says how old they may be.
func (x *Index) View(ctx context.Context) (*View, error) {
	asked := time.Now()
	if h := x.held.Load(); x.serves(h, asked) {
		return &h.View, nil
	}
	select {
	case x.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-x.turn }()
	h := x.held.Load()
	if x.serves(h, asked) { // another search made it meanwhile
		return &h.View, nil
	}
	h, err := x.update(ctx, h, asked)
	if err != nil {
		return nil, err
	}
	return &h.View, nil
}

// serves reports whether a view is new enough for a search that began at a time.
func (x *Index) serves(h *held, asked time.Time) bool {
	if h == nil || !x.reported && x.outdated(h, asked) {
		return false
	}
	return h.checked.After(asked) || h.version == x.version() && !x.hasChanges()
}

// outdated reports whether a search that began at a time must read the directory again, because its store does not report
// changes.
func (x *Index) outdated(h *held, asked time.Time) bool {
	if h.dir.len() <= small {
		return !h.read.After(asked)
	}
	return asked.Sub(h.read) >= MaxAge
}

func (x *Index) version() uint64 {
	if x.cfg.Captured == nil {
		return 0
	}
	return x.cfg.Captured.NamesVersion()
}

// hasChanges reports whether the store has reported changes that the last view may lack.
func (x *Index) hasChanges() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.overflow || len(x.changed) > 0 || x.reported && x.updating
}

// update makes a view. The caller holds turn. h is the last view, or nil.
func (x *Index) update(ctx context.Context, h *held, asked time.Time) (*held, error) {
	next := held{checked: time.Now(), version: x.version()}
	x.mu.Lock()
	changed, again := x.changed, x.overflow
	x.changed, x.overflow, x.updating = map[string]struct{}{}, false, true
	x.mu.Unlock()
	var err error
	if h == nil || again || !x.reported && x.outdated(h, asked) || len(changed) > small+h.dir.len()/8 {
		err = x.read(ctx, h, &next)
	} else {
		err = x.apply(ctx, h, &next, changed)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.updating = false
	if err != nil {
		x.overflow = x.overflow || again
		for pv := range changed {
			x.changed[pv] = struct{}{} // at most twice maxChanges
		}
		return nil, fmt.Errorf("reading the names of the PVs: %w", err)
	}
	x.held.Store(&next)
	return &next, nil
}

// read reads the directory into the next view.
func (x *Index) read(ctx context.Context, h, next *held) error {
	next.read = time.Now()
	var names []string
	if h != nil {
		names = make([]string, 0, h.dir.len()+h.dir.len()/16)
	}
	for name, err := range store.DirectoryNames(ctx, x.cfg.Store) {
		if err != nil {
			return err
		}
		names = append(names, name)
	}
	if err := ctx.Err(); err != nil { // a store may end its sequence early
		return err
	}
	dir, err := newList(names)
	if err != nil {
		return err
	}
	next.took = time.Since(next.read)
	if h != nil && h.dir.same(dir) {
		if next.dir = h.dir; next.version == h.version {
			next.View = h.View
			return nil
		}
	} else {
		next.dir = dir
	}
	return x.addCaptured(ctx, next)
}

// apply makes the next view of the last one and the entries that have changed since.
func (x *Index) apply(ctx context.Context, h, next *held, changed map[string]struct{}) error {
	next.read, next.took, next.dir, next.View = h.read, h.took, h.dir, h.View
	var added, removed, gone []string // gone are the removed ones that are not captured
	for pv := range changed {
		_, found, err := x.cfg.Store.Channel(ctx, pv)
		switch {
		case err != nil:
			return err
		case found:
			added = append(added, pv)
		default:
			removed = append(removed, pv)
			if x.cfg.Captured == nil || !x.cfg.Captured.Captures(pv) {
				gone = append(gone, pv)
			}
		}
	}
	var err error
	if len(changed) > 0 {
		if next.dir, err = h.dir.with(added, removed); err != nil {
			return err
		}
	}
	switch {
	case next.version != h.version:
		return x.addCaptured(ctx, next)
	case len(changed) == 0:
	case h.all == h.dir && len(gone) == len(removed):
		next.all = next.dir
	default:
		next.all, err = h.all.with(added, gone)
	}
	return err
}

// addCaptured sets all names of the next view: those in the directory and the captured PVs.
func (x *Index) addCaptured(ctx context.Context, next *held) (err error) {
	var more []string
	if x.cfg.Captured != nil {
		n, has := 0, next.dir.finder()
		for pv := range x.cfg.Captured.Names() {
			if n++; n%atOnce == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if !has(pv) {
				more = append(more, pv)
			}
		}
	}
	if next.all = next.dir; len(more) > 0 {
		next.all, err = next.dir.with(more, nil)
	}
	return err
}

// Run makes the first view, and reads a directory again whose store does not report changes, until ctx ends.
func (x *Index) Run(ctx context.Context) {
	wait := time.NewTimer(0)
	defer wait.Stop()
	for failed := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		h, err := x.refresh(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !failed { // an outage takes long
				x.cfg.Log.Warn("reading the names of PVs failed; searches use the names that were read before, or read them", "err", err)
			}
			failed = true
			wait.Reset(retryAfter)
		case x.reported:
			return
		default:
			failed = false
			wait.Reset(max(readEvery, readShare*h.took))
		}
	}
}

// refresh makes a view now. It reads the directory unless its store reports changes.
func (x *Index) refresh(ctx context.Context) (*held, error) {
	select {
	case x.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-x.turn }()
	h := x.held.Load()
	if x.reported && h != nil {
		return h, nil
	}
	if h == nil || h.dir.len() > small { // each search reads a small directory itself
		return x.update(ctx, h, time.Now().Add(MaxAge)) // any directory is outdated by then
	}
	return h, nil
}
