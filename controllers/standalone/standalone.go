// Package standalone drives an engine from ArchiveGroup files, as the operator
// does from a cluster:
//
//	files ──▶ manifest.Watch ──▶ compile.Compile ──▶ engine.Apply
//	                 ▲                  │
//	               edits            next expiry: compile again
package standalone

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/compile"
	"varve.dev/varve/controllers/manifest"
	"varve.dev/varve/engine"
)

// Driver keeps what is captured equal to what the files of a path say.
type Driver struct {
	// Path is a file, or a directory of files.
	Path string
	// Shards is the number of shards of the archive.
	Shards int
	// Apply takes every assignment: of all shards, and all to be sealed.
	Apply func(engine.Assignment)
	Log   *slog.Logger

	groups []v1alpha1.ArchiveGroup
	told   map[string]bool // messages that the log has and that still hold
}

// Run applies the groups, and again after each change, until ctx ends.
func (d *Driver) Run(ctx context.Context) {
	results := make(chan manifest.Result) // never closed: Run takes from it until the watch has ended
	done := make(chan struct{})
	go func() {
		defer close(done)
		manifest.Watch(ctx, d.Path, func(r manifest.Result) {
			select {
			case results <- r:
			case <-ctx.Done():
			}
		})
	}()
	expiry := time.NewTimer(0)
	expiry.Stop()
	defer expiry.Stop()
	var errs []error
	for {
		select {
		case r := <-results:
			d.groups, errs = r.Groups, r.Errors
		case <-expiry.C:
		case <-done:
			return
		}
		if next := d.apply(errs); !next.IsZero() {
			expiry.Reset(time.Until(next))
		}
	}
}

// apply compiles the groups and returns when to do so again; zero: after a change.
func (d *Driver) apply(errs []error) time.Time {
	r := compile.Compile(d.groups, nil, d.Shards, time.Now())
	channels := 0
	a := make(engine.Assignment, d.Shards)
	for shard := range d.Shards {
		a[shard] = engine.Shard{Channels: r.Assignment[shard], Seal: true}
		channels += len(r.Assignment[shard])
	}
	d.Apply(a)
	d.Log.Info("groups applied", "groups", len(d.groups), "channels", channels, "errors", len(errs))
	d.tell(errs, r)
	return r.NextExpiry
}

// tell logs what is wrong, each thing once for as long as it is.
func (d *Driver) tell(errs []error, r compile.Result) {
	now := map[string]bool{}
	isNew := func(problem string) bool {
		now[problem] = true
		return !d.told[problem]
	}
	for _, err := range errs {
		if isNew(err.Error()) {
			d.Log.Error("a manifest is wrong; the rest goes on", "err", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Groups)) {
		g := r.Groups[name]
		if g.Expired && isNew(name) {
			d.Log.Info("the group has expired; its data stays", "group", name)
		}
		for _, p := range g.Problems {
			if isNew(name + p.PV + p.Message) {
				d.Log.Warn("a channel can not be archived as asked", "group", name, "pv", p.PV, "problem", p.Message)
			}
		}
		for _, c := range g.Conflicts {
			if isNew(name + c.PV) {
				d.Log.Warn("a PV is in several groups; what keeps more wins", "pv", c.PV, "groups", c.Groups)
			}
		}
	}
	d.told = now
}
