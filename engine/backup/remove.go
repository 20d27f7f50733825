package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Removed is what Remove has removed.
type Removed struct {
	Packs, Bytes int64
}

// Remove deletes backups, and the packs that no other backup needs. An interrupted Remove is completed by the next one. It refuses
// while a backup is being made, because that may use any pack.
func Remove(ctx context.Context, d Destination, names ...string) (r Removed, err error) {
	if err := CheckDestination(ctx, d); err != nil {
		return r, err
	}
	if err := running(ctx, d, time.Now()); err != nil {
		return r, err
	}
	all, broken, err := List(ctx, d)
	if err != nil {
		return r, err
	}
	for _, name := range names {
		if _, isBroken := broken[name]; !isBroken && !slices.ContainsFunc(all, func(m *Manifest) bool { return m.Name == name }) {
			return r, fmt.Errorf("%w: %s has no backup %s", ErrNoBackup, d, name)
		}
		delete(broken, name)
	}
	if len(broken) > 0 {
		name := slices.Sorted(maps.Keys(broken))[0]
		return r, fmt.Errorf("nothing was deleted, because it is not known which packs backup %s needs: delete that too, or use the release that made it: %w",
			name, broken[name])
	}
	for _, name := range names {
		if err := d.Remove(ctx, manifestObject(name)); err != nil {
			return r, fmt.Errorf("deleting backup %s: %w", name, err)
		}
	}
	needed := map[string]bool{}
	for _, m := range all {
		if !slices.Contains(names, m.Name) {
			for i := range m.Packs {
				needed[m.Packs[i].SHA256] = true
			}
		}
	}
	return sweep(ctx, d, needed)
}

// sweep removes the packs that are not needed, and files that an interrupted write has left.
func sweep(ctx context.Context, d Destination, needed map[string]bool) (r Removed, err error) {
	if err := removeOld(ctx, d, "tmp/", time.Hour); err != nil {
		return r, err
	}
	for o, err := range d.List(ctx, packsPrefix) {
		if err != nil {
			return r, fmt.Errorf("listing the packs in %s: %w", d, err)
		}
		if hash, ok := packHash(o.Name); !ok || needed[hash] {
			continue
		}
		// A backup that began after the first look may count on a pack.
		if err := running(ctx, d, time.Now()); err != nil {
			return r, fmt.Errorf("the deletion is incomplete; repeat it: %w", err)
		}
		if err := d.Remove(ctx, o.Name); err != nil {
			return r, fmt.Errorf("deleting %s: %w", o.Name, err)
		}
		r.Packs++
		r.Bytes += o.Bytes
	}
	return r, removeOld(ctx, d, runningPrefix, runningFor) // a backup that was interrupted leaves its announcement
}

// removeOld removes the objects with a prefix that were written longer ago.
func removeOld(ctx context.Context, d Destination, prefix string, ago time.Duration) error {
	now := time.Now()
	for o, err := range d.List(ctx, prefix) {
		if err == nil && now.Sub(o.Modified) > ago {
			err = d.Remove(ctx, o.Name)
		}
		if err != nil {
			return fmt.Errorf("removing old files below %s in %s: %w", prefix, d, err)
		}
	}
	return nil
}

// ErrKeep means that a number of backups to keep is impossible.
var ErrKeep = errors.New("at least one backup must be kept")

// Older returns the names of all backups but the latest ones, the oldest first.
func Older(ctx context.Context, d Destination, keep int) (names []string, err error) {
	if keep < 1 {
		return nil, ErrKeep
	}
	all, _, err := List(ctx, d)
	for i := 0; i < len(all)-keep; i++ {
		names = append(names, all[i].Name)
	}
	return names, err
}
