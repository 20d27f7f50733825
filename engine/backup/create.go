package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/retry"
	"varve.dev/varve/engine/store"
)

const (
	// maxShards is the maximum number of shards of an archive.
	maxShards = 4096
	// tries is the number of tries of a read or write of the archive, over about 20 seconds.
	tries = 8
	// maxProblems is the number of problems that are described; all are counted.
	maxProblems = 20
)

// CreateOptions are the options of Create.
type CreateOptions struct {
	// Name is the name of the backup.
	Name string
	// Source says where the archive is, for people. Version is the version of the program.
	Source, Version string
	// Shards is the number of shards of the archive.
	Shards int
	// Rate limits the bytes of rows that are read per second; 0 means no limit.
	Rate float64
	// Parallel is the number of slices that are copied at a time; default 4. Each needs up to 64 MiB of memory.
	Parallel int
	// Progress, if not nil, is updated while the backup is made.
	Progress *Progress
	// Now is the clock; default time.Now, or the clock of the store.
	Now func() time.Time

	packBytes int // default packBytes
}

// Progress is the progress of a backup, a verification or a restore. All numbers only rise.
type Progress struct {
	// PVs and Packs are done, out of the totals.
	PVs, TotalPVs, Packs, TotalPacks atomic.Int64
	// Bytes were read. Of the packs of a backup, the new ones were written, and the others existed.
	Bytes, NewBytes, NewPacks, ReusedBytes, ReusedPacks atomic.Int64
}

// creator makes one backup.
type creator struct {
	store store.Store
	dest  Destination
	opts  CreateOptions
	begin time.Time
	pace  pace

	known map[string]int64 // sizes of the packs in the destination by hash, under mu once copying begins

	mu       sync.Mutex
	manifest Manifest
	tiers    [store.NumTiers]bool
}

// Create makes a backup of an archive, and returns its manifest. Engines may write meanwhile. If Create fails or is interrupted,
// there is no backup, and the next try reuses the packs that are complete.
func Create(ctx context.Context, st store.Store, d Destination, opts CreateOptions) (*Manifest, error) {
	if opts.Parallel == 0 {
		opts.Parallel = 4
	}
	if opts.packBytes == 0 {
		opts.packBytes = packBytes
	}
	if opts.Now == nil {
		opts.Now = clockOf(st)
	}
	if opts.Progress == nil {
		opts.Progress = new(Progress)
	}
	if err := CheckName(opts.Name); err != nil {
		return nil, err
	}
	if opts.Shards < 1 || opts.Shards > maxShards {
		return nil, fmt.Errorf("an archive cannot have %d shards", opts.Shards)
	}
	if err := prepare(ctx, d); err != nil {
		return nil, err
	}
	if _, err := Read(ctx, d, opts.Name); !errors.Is(err, ErrNoBackup) {
		if err == nil {
			err = fmt.Errorf("%w: %s in %s", ErrExists, opts.Name, d)
		}
		return nil, err
	}
	ctx, stop, err := announce(ctx, d, opts.Name)
	if err != nil {
		return nil, err
	}
	defer stop()
	c := &creator{store: st, dest: d, opts: opts}
	m, err := c.run(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return m, err
}

func (c *creator) run(ctx context.Context) (*Manifest, error) {
	if err := c.listPacks(ctx); err != nil {
		return nil, err
	}
	former, err := c.formerBits(ctx)
	if err != nil {
		return nil, err
	}
	c.begin = c.opts.Now()
	if err := c.copy(ctx, former); err != nil {
		return nil, err
	}
	return c.finish(ctx)
}

// copy copies all rows, in the order of the package comment.
func (c *creator) copy(ctx context.Context, formerBits int) error {
	if err := c.journal(ctx); err != nil {
		return err
	}
	guard := c.newPacker(Guard)
	if err := c.guardProgress(ctx, guard); err != nil {
		return err
	}
	pvs, err := c.names(ctx)
	if err != nil {
		return err
	}
	bits := sliceBits(len(pvs), formerBits)
	c.manifest.SliceBits = bits
	c.opts.Progress.TotalPVs.Store(int64(len(pvs)))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(c.opts.Parallel)
	for part := range slicesOf(pvs, bits) {
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			return c.slice(gctx, part)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return c.cutoff(ctx, guard)
}

// finish writes the manifest.
func (c *creator) finish(ctx context.Context) (*Manifest, error) {
	level, err := c.store.FormatLevel(ctx) // the level only rises, and all copied rows are of this one or a lower one
	if err != nil {
		return nil, err
	}
	m := &c.manifest
	m.Name, m.Source, m.Version, m.Shards, m.FormatLevel = c.opts.Name, c.opts.Source, c.opts.Version, c.opts.Shards, level
	m.Begin, m.End = c.begin.UTC(), c.opts.Now().UTC()
	for r, used := range c.tiers {
		if used {
			m.Tiers = append(m.Tiers, store.Tier(r).String())
		}
	}
	m.sortPacks()
	if err := c.checkPacks(ctx); err != nil {
		return nil, err
	}
	data, err := m.encode()
	if err != nil {
		return nil, err
	}
	if len(data) > maxManifest {
		return nil, fmt.Errorf("the manifest would have %d bytes, more than the maximum of %d", len(data), maxManifest)
	}
	if err := c.dest.Create(ctx, manifestObject(m.Name), data); err != nil {
		return nil, fmt.Errorf("writing the manifest of backup %s: %w", m.Name, err)
	}
	return m, nil
}

// listPacks lists the packs that exist.
func (c *creator) listPacks(ctx context.Context) error {
	c.known = map[string]int64{}
	for o, err := range c.dest.List(ctx, packsPrefix) {
		if err != nil {
			return fmt.Errorf("listing the packs in %s: %w", c.dest, err)
		}
		if hash, ok := packHash(o.Name); ok {
			c.known[hash] = o.Bytes
		}
	}
	return nil
}

// packHash returns the hash in the name of a pack.
func packHash(object string) (hash string, ok bool) {
	hash, ok = strings.CutSuffix(object[strings.LastIndexByte(object, '/')+1:], ".pack")
	return hash, ok && hashPattern.MatchString(hash)
}

// formerBits returns the slice bits of the latest backup in the destination, or -1 if there is none.
func (c *creator) formerBits(ctx context.Context) (int, error) {
	all, _, err := List(ctx, c.dest)
	if err != nil || len(all) == 0 {
		return -1, err
	}
	return all[len(all)-1].SliceBits, nil
}

// checkPacks checks that all packs of the manifest are in the destination, just before the manifest is written.
func (c *creator) checkPacks(ctx context.Context) error {
	if err := c.listPacks(ctx); err != nil {
		return err
	}
	for i := range c.manifest.Packs {
		p := &c.manifest.Packs[i]
		if size, found := c.known[p.SHA256]; !found || size != p.Bytes {
			return fmt.Errorf("pack %s disappeared from %s while the backup was made; repeat the command", p.object(), c.dest)
		}
	}
	return nil
}

// put writes a pack unless it exists, and adds it to the manifest.
func (c *creator) put(ctx context.Context, p Pack, data []byte) error {
	c.mu.Lock()
	size, found := c.known[p.SHA256]
	c.mu.Unlock()
	progress := c.opts.Progress
	if found && size == p.Bytes {
		progress.ReusedPacks.Add(1)
		progress.ReusedBytes.Add(p.Bytes)
	} else {
		if err := c.dest.Put(ctx, p.object(), data); err != nil {
			return &destinationError{fmt.Errorf("writing a pack to %s: %w", c.dest, err)}
		}
		progress.NewPacks.Add(1)
		progress.NewBytes.Add(p.Bytes)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[p.SHA256] = p.Bytes
	c.manifest.Packs = append(c.manifest.Packs, p)
	return nil
}

// destinationError is an error of the destination, which is not tried again as an error of the archive is.
type destinationError struct{ error }

func (e *destinationError) Unwrap() error { return e.error }

// damaged notes a row that the archive cannot return whole.
func (c *creator) damaged(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.manifest.Damaged++; len(c.manifest.Problems) < maxProblems {
		c.manifest.Problems = append(c.manifest.Problems, fmt.Sprintf(format, args...))
	}
}

// again calls f until it succeeds, up to tries times. f may add rows again that it has added before an error: a restore
// writes the later one.
func again(ctx context.Context, what string, f func() error) error {
	wait := retry.Backoff{Min: 200 * time.Millisecond, Max: 8 * time.Second}
	for try := 1; ; try++ {
		err := f()
		if err == nil {
			return nil
		}
		if own := (*destinationError)(nil); errors.As(err, &own) || isFinal(err) || try == tries || !wait.Wait(ctx) {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
}

// isFinal reports whether an error of a store will not go away.
func isFinal(err error) bool {
	return slices.ContainsFunc([]error{store.ErrTooLarge, store.ErrNoTier, store.ErrDiskFull, store.ErrFormat, context.Canceled, errDamagedPack},
		func(final error) bool { return errors.Is(err, final) })
}

// clockOf returns the clock of the servers of a store, if they have clocks. By the clock of this machine, which may be wrong,
// a backup could take stored blocks for expired ones, or for blocks of the future.
func clockOf(st store.Store) func() time.Time {
	if servers, ok := st.(clock.Store); ok {
		return func() time.Time { return time.Unix(0, servers.Now()) }
	}
	return time.Now
}

// pace limits the rate of reading.
type pace struct {
	mu   sync.Mutex
	next time.Time // the time at which the rate allows the next read
}

// spend counts bytes that were read, and waits as the rate requires.
func (c *creator) spend(ctx context.Context, n int) error {
	c.opts.Progress.Bytes.Add(int64(n))
	if c.opts.Rate <= 0 {
		return nil
	}
	c.pace.mu.Lock()
	now := time.Now()
	if c.pace.next.Before(now) {
		c.pace.next = now
	}
	c.pace.next = c.pace.next.Add(time.Duration(float64(n) / c.opts.Rate * float64(time.Second)))
	wait := c.pace.next.Sub(now)
	c.pace.mu.Unlock()
	if wait < 50*time.Millisecond { // shorter waits add up
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
