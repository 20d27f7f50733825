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
	"varve.dev/varve/engine/capture"
)

// Driver keeps what is captured equal to what the files of a path say.
type Driver struct {
	// Path is a file, or a directory of files.
	Path string
	// Shards is the number of shards of the archive.
	Shards int
	// Apply takes every assignment.
	Apply func(capture.Assignment)
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
	r := compile.Compile(d.groups, d.Shards, time.Now())
	d.Apply(r.Assignment)
	channels := 0
	for _, list := range r.Assignment {
		channels += len(list)
	}
	d.Log.Info("groups applied", "groups", len(d.groups), "channels", channels, "errors", len(errs))
	d.tell(errs, r)
	return r.NextExpiry
}

// tell logs what is wrong, each thing once for as long as it is.
func (d *Driver) tell(errs []error, r compile.Result) {
	now := map[string]bool{}
	say := func(level slog.Level, msg, text, group string) {
		now[msg+text+group] = true
		if !d.told[msg+text+group] {
			d.Log.Log(context.Background(), level, msg, "problem", text, "group", group)
		}
	}
	for _, err := range errs {
		say(slog.LevelError, "a manifest is wrong; the rest goes on", err.Error(), "")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Groups)) {
		g := r.Groups[name]
		if g.Expired {
			say(slog.LevelInfo, "the group has expired; its data stays", "expiresAt has passed", name)
		}
		for _, p := range g.Problems {
			say(slog.LevelWarn, "a channel can not be archived as asked", p.PV+": "+p.Message, name)
		}
		for _, c := range g.Conflicts {
			say(slog.LevelWarn, "a PV is in several groups; what keeps more wins", c.PV, name)
		}
	}
	d.told = now
}
