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

	"varve.dev/varve/engine/store"
)

var (
	// ErrNotEmpty means that an archive has rows that did not come from the backup.
	ErrNotEmpty = errors.New("the archive is not empty")
	// ErrShards means that a backup has another number of shards than the archive.
	ErrShards = errors.New("the number of shards differs")
)

// RestoreOptions are the options of Restore.
type RestoreOptions struct {
	// Name is the name of the backup.
	Name string
	// Shards is the number of shards of the archive.
	Shards int
	// Parallel is the number of packs that are written at a time; default 4. Each needs up to 64 MiB of memory.
	Parallel int
	// Progress, if not nil, is updated.
	Progress *Progress
	// Now is the clock; default time.Now, or the clock of the store.
	Now func() time.Time
}

// Restored is the result of Restore.
type Restored struct {
	// Already means that the archive had been restored from this backup before, so nothing was written.
	Already bool `json:"already"`
	// Expired is the number of blocks and rollups that were left out because they have expired since the backup.
	Expired int64 `json:"expired"`
}

// restorer restores one backup.
type restorer struct {
	store    store.Store
	dest     Destination
	opts     RestoreOptions
	manifest *Manifest
	now      int64
	expired  atomic.Int64

	mu     sync.Mutex
	claims map[writer]*store.Claim
}

// writer names the journal of a writer in a shard.
type writer struct {
	shard int
	id    store.WriterID
}

// Restore writes the rows of a backup into an empty archive that no engine uses. A claim in a shard that no archive has
// (restoreShard) names the backup, so that an interrupted Restore can be repeated. Its claim is closed when the archive is complete.
func Restore(ctx context.Context, st store.Store, d Destination, opts RestoreOptions) (*Manifest, Restored, error) {
	if opts.Parallel == 0 {
		opts.Parallel = 4
	}
	if opts.Progress == nil {
		opts.Progress = new(Progress)
	}
	if opts.Now == nil {
		opts.Now = clockOf(st)
	}
	if err := CheckDestination(ctx, d); err != nil {
		return nil, Restored{}, err
	}
	m, err := Read(ctx, d, opts.Name)
	if err != nil {
		return nil, Restored{}, err
	}
	r := &restorer{store: st, dest: d, opts: opts, manifest: m, now: opts.Now().UnixNano(), claims: map[writer]*store.Claim{}}
	already, err := r.run(ctx)
	if err != nil {
		return m, Restored{}, err
	}
	return m, Restored{Already: already, Expired: r.expired.Load()}, nil
}

func (r *restorer) run(ctx context.Context) (already bool, err error) {
	if err := r.check(ctx); err != nil {
		return false, err
	}
	mine := store.Claim{Shard: restoreShard, Epoch: 1, Since: r.now, Alive: r.now}
	copy(mine.Writer[:], r.manifest.hash[:])
	begun, complete, err := r.restores(ctx, mine.Writer)
	switch {
	case err != nil:
		return false, err
	case complete:
		return true, nil
	case !begun:
		if err := r.checkEmpty(ctx); err != nil {
			return false, err
		}
	}
	if err := r.checkPacks(ctx); err != nil {
		return false, err
	}
	if err := r.store.PutClaim(ctx, mine); err != nil {
		return false, err
	}
	r.opts.Progress.TotalPacks.Store(int64(len(r.manifest.Packs)))
	for _, g := range groups {
		if err := r.group(ctx, g); err != nil {
			return false, err
		}
	}
	if err := r.checkClaims(ctx); err != nil {
		return false, err
	}
	mine.Closed = true
	return false, r.store.PutClaim(ctx, mine)
}

// check refuses a backup that this program or the archive cannot take.
func (r *restorer) check(ctx context.Context) error {
	m := r.manifest
	if err := (store.Formats{}).OrDefault().Check(m.FormatLevel); err != nil {
		return fmt.Errorf("backup %s: %w", m.Name, err)
	}
	level, err := r.store.FormatLevel(ctx)
	if err != nil {
		return err
	}
	if m.FormatLevel > level {
		return fmt.Errorf("%w: backup %s has format level %d, and the archive to restore has %d; first run varve store finalize on it",
			store.ErrFormat, m.Name, m.FormatLevel, level)
	}
	if m.Shards != r.opts.Shards {
		return fmt.Errorf("%w: backup %s is of an archive of %d shards, and the archive to restore has %d; it must have %d",
			ErrShards, m.Name, m.Shards, r.opts.Shards, m.Shards)
	}
	tiers, err := r.store.Tiers(ctx)
	if err != nil {
		return err
	}
	var missing []string
	for _, name := range m.Tiers {
		tier, err := store.ParseTier(name)
		if err != nil {
			return fmt.Errorf("backup %s: %w", m.Name, err)
		}
		if !slices.Contains(tiers, tier) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: the archive lacks the tiers %s of the backup; run varve schema --tiers %s", store.ErrNoTier,
			strings.Join(missing, ", "), strings.Join(m.Tiers, ","))
	}
	return nil
}

// restores returns how far a restore of this backup into the archive is. It returns an error if another backup was being restored.
func (r *restorer) restores(ctx context.Context, backup store.WriterID) (begun, complete bool, err error) {
	claims, err := r.store.Claims(ctx, restoreShard)
	if err != nil {
		return false, false, err
	}
	for _, c := range claims {
		if c.Writer != backup {
			return false, false, fmt.Errorf("%w: another backup was restored into it at %s, or its restore was interrupted; give an empty archive",
				ErrNotEmpty, time.Unix(0, c.Since).UTC().Format(time.RFC3339))
		}
		begun, complete = true, c.Closed
	}
	return begun, complete, nil
}

// checkEmpty returns an error if the archive has rows.
func (r *restorer) checkEmpty(ctx context.Context) error {
	const advice = "a backup is restored into an empty archive: a new directory, or a keyspace in which varve schema has just created the tables"
	for shard := range 2 * r.opts.Shards {
		claims, err := r.store.Claims(ctx, shard)
		if err != nil {
			return err
		}
		if len(claims) > 0 {
			return fmt.Errorf("%w: an engine has written to shard %d; %s", ErrNotEmpty, shard, advice)
		}
	}
	for c, err := range r.store.Channels(ctx) {
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: it has PV %s; %s", ErrNotEmpty, c.PV, advice)
	}
	if lister, ok := r.store.(Lister); ok {
		for pv, err := range lister.PVs(ctx) {
			if err != nil {
				return err
			}
			return fmt.Errorf("%w: it has rows of %s; %s", ErrNotEmpty, pv, advice)
		}
	}
	return nil
}

// checkPacks checks that all packs have the right sizes before anything is written.
func (r *restorer) checkPacks(ctx context.Context) error {
	sizes := map[string]int64{}
	for o, err := range r.dest.List(ctx, packsPrefix) {
		if err != nil {
			return fmt.Errorf("listing the packs in %s: %w", r.dest, err)
		}
		sizes[o.Name] = o.Bytes
	}
	for i := range r.manifest.Packs {
		p := &r.manifest.Packs[i]
		switch size, found := sizes[p.object()]; {
		case !found:
			return fmt.Errorf("backup %s is damaged: %s is missing; varve backup verify lists all that is", r.manifest.Name, p.object())
		case size != p.Bytes:
			return fmt.Errorf("backup %s is damaged: %s has %d bytes instead of %d; varve backup verify lists all that is",
				r.manifest.Name, p.object(), size, p.Bytes)
		}
	}
	return nil
}

// checkClaims checks that no engine has written meanwhile.
func (r *restorer) checkClaims(ctx context.Context) error {
	for shard := range 2 * r.opts.Shards {
		claims, err := r.store.Claims(ctx, shard)
		if err != nil {
			return err
		}
		for _, c := range claims {
			if w := r.claims[writer{shard, c.Writer}]; w == nil || w.Alive != c.Alive {
				return fmt.Errorf("%w: an engine has written to shard %d during the restore; stop all engines, and restore into an empty archive", ErrNotEmpty, shard)
			}
		}
	}
	return nil
}

// group restores the packs of a group.
func (r *restorer) group(ctx context.Context, group Group) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(r.opts.Parallel)
	for i := range r.manifest.Packs {
		p := &r.manifest.Packs[i]
		if p.Group != group {
			continue
		}
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			return r.pack(gctx, p)
		})
	}
	return g.Wait()
}

// pack restores the rows of a pack, once it is known to be whole.
func (r *restorer) pack(ctx context.Context, p *Pack) error {
	data, err := readPack(ctx, r.dest, p)
	if err != nil {
		return err
	}
	b := batch{restorer: r}
	for row, err := range rows(data) {
		if err == nil {
			err = b.add(ctx, row)
		}
		if err != nil {
			return fmt.Errorf("restoring %s: %w", p.object(), err)
		}
	}
	if err := b.flush(ctx); err != nil {
		return fmt.Errorf("restoring %s: %w", p.object(), err)
	}
	r.opts.Progress.Packs.Add(1)
	r.opts.Progress.Bytes.Add(int64(len(data)))
	return nil
}
