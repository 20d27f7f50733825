// Package standalone drives the engine of varve standalone from ArchiveGroup files. In one
// process it does the work of the operator and the agents of a cluster:
//
//	files ──▶ manifest.Watch ──▶ sources.List ──▶ compile.Compile ──▶ engine.Apply
//	                 ▲                 ▲              ▲  │
//	               edits  channelfinder.Poller        │  next expiry: compile again
//	                                                  │
//	file of policies ──▶ Policies ────────────────────┴──▶ each request
//
//	request of a script ──▶ Edit ──▶ files of the groups that accept requests
package standalone

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/engine"
	"varve.dev/varve/engine/serve/audit"
	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/groups/channelfinder"
	"varve.dev/varve/groups/compile"
	"varve.dev/varve/groups/manifest"
	"varve.dev/varve/groups/sources"
)

// Driver keeps the engine's assignment up to date with the files of a path.
type Driver struct {
	// Path is a file, or a directory of files.
	Path string
	// Archive holds the settings that all groups share.
	Archive compile.Archive
	// Apply receives every assignment. It always contains all shards, all sealed by this engine.
	Apply func(engine.Assignment)
	Log   *slog.Logger
	// Policies say which groups may archive which PVs. It may be nil.
	Policies *Policies
	// Erase deletes samples that groups request to delete. If it is nil, nothing is deleted.
	Erase func(context.Context, engine.Deletion) (engine.Erased, error)
	// Audit notes deletions in the audit log. It may be nil.
	Audit func(*audit.Entry)
	// Anonymous means that nobody is identified, so that Edit is not used. Groups that accept requests then have a problem.
	Anonymous bool
	// Registerer receives the metrics. It may be nil.
	Registerer prometheus.Registerer

	mu       sync.Mutex
	warnings []string         // guarded by mu
	groups   []overview.Group // guarded by mu
	invalid  string           // guarded by mu: why groups are missing
	// accepting and oneEdit are guarded by mu. See requests.go.
	accepting accepting
	oneEdit   chan struct{}

	eraser   *eraser // set by Run, under mu
	files    manifest.Result
	finder   *channelfinder.Poller
	compiled compile.Result
	logged   map[string]bool // messages that were logged and still apply
	problems *prometheus.GaugeVec
}

// Warnings returns the errors in the manifests and the warnings about them, until they are mended.
func (d *Driver) Warnings() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.warnings)
}

// maxWarnings limits Warnings, because users read them as a whole.
const maxWarnings = 20

// publishProblems makes the problems of the files known to Warnings and to the metrics.
func (d *Driver) publishProblems() {
	var list []string
	for _, err := range d.files.Errors {
		list = append(list, "a manifest is invalid; its last valid content stays in effect: "+err.Error())
	}
	list = append(list, d.files.Warnings...)
	if n := len(list) - maxWarnings; n > 0 {
		list = append(list[:maxWarnings:maxWarnings], fmt.Sprintf("there are %d more problems like these: see the log", n))
	}
	d.mu.Lock()
	d.warnings = list
	d.mu.Unlock()
	if d.problems != nil {
		d.problems.WithLabelValues("error").Set(float64(len(d.files.Errors)))
		d.problems.WithLabelValues("warning").Set(float64(len(d.files.Warnings)))
	}
}

// register makes the metrics.
func (d *Driver) register() {
	if d.Registerer != nil {
		d.problems = promauto.With(d.Registerer).NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "varve", Subsystem: "manifest", Name: "problems",
			Help: "Errors in the manifests, whose last valid content stays in effect, and warnings about them.",
		}, []string{"severity"})
	}
}

// Run applies the groups, and repeats it after each change, until ctx ends.
func (d *Driver) Run(ctx context.Context) {
	d.register()
	d.mu.Lock()
	d.eraser = newEraser(d)
	d.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	client := channelfinder.NewClient()
	defer client.Close()
	var parts sync.WaitGroup
	defer parts.Wait()
	defer cancel()
	results := make(chan manifest.Result) // never closed: Run receives from it until ctx ends
	parts.Go(func() {
		manifest.Watch(ctx, d.Path, func(r manifest.Result) {
			select {
			case results <- r:
			case <-ctx.Done():
			}
		})
	})
	answers := make(chan struct{}, 1) // never closed: the poller signals new answers
	d.finder = channelfinder.NewPoller(client.Names, func(string, string) {
		select {
		case answers <- struct{}{}:
		default:
		}
	})
	parts.Go(func() { _ = d.finder.Start(ctx) }) // it always returns nil

	if d.Erase != nil {
		parts.Go(func() { d.eraser.run(ctx) })
	}
	policies := make(chan struct{}, 1) // never closed: like answers
	if d.Policies != nil {
		parts.Go(func() {
			d.Policies.run(ctx, func() {
				select {
				case policies <- struct{}{}:
				default:
				}
			})
		})
	}

	expiry := time.NewTimer(0)
	expiry.Stop()
	defer expiry.Stop()
	read := false
	var next time.Time // when the result changes by itself, or zero
	for {
		select {
		case d.files = <-results:
			read = true
		case <-answers:
		case <-policies:
			if !read {
				continue // without groups, nothing would be captured
			}
		case <-expiry.C:
			if wait := untilNext(next, time.Now()); wait > 0 {
				expiry.Reset(wait)
				continue
			}
		case <-ctx.Done():
			return
		}
		next = d.apply()
		waitFor(next, expiry)
	}
}

// waitFor sets a timer after which the clock is read again. If next is zero, it does nothing.
func waitFor(next time.Time, timer *time.Timer) {
	if !next.IsZero() {
		timer.Reset(untilNext(next, time.Now()))
	}
}

// maxWait is the maximum time until the clock is read again. A timer does not follow corrections of the clock.
const maxWait = time.Minute

// untilNext returns how long to wait until the clock is read again. It returns zero if next has come.
func untilNext(next, now time.Time) time.Duration {
	return min(max(next.Sub(now), 0), maxWait)
}

// apply compiles and applies the groups. It returns when the next group expires, or zero.
func (d *Driver) apply() time.Time {
	d.publishAccepting()
	listed := map[string]compile.Listed{}
	for i := range d.files.Groups {
		g := &d.files.Groups[i]
		if len(g.Spec.ChannelsFrom) > 0 {
			listed[g.Namespace+"/"+g.Name], _ = sources.List(g, d.lookup())
		}
	}
	archive := d.Archive
	archive.Policies, archive.Planned = d.Policies.sets()
	archive.Incomplete = len(d.files.Errors) > 0
	d.compiled = compile.Compile(d.files.Groups, listed, archive, time.Now())
	channels := 0
	a := make(engine.Assignment, d.Archive.Shards)
	for shard := range d.Archive.Shards {
		a[shard] = engine.Shard{Channels: d.compiled.Assignment[shard], Seal: true, MarkRemoved: true}
		channels += len(d.compiled.Assignment[shard])
	}
	d.Apply(a)
	d.eraser.order(d.compiled.Erasures)
	d.Log.Info("groups applied", "groups", len(d.files.Groups), "channels", channels, "errors", len(d.files.Errors))
	d.logProblems()
	d.publishProblems()
	d.publishGroups()
	return d.compiled.NextExpiry
}

// lookup finds ConfigMaps in the files. In files, ConfigMaps need no label.
func (d *Driver) lookup() sources.Lookup {
	return sources.Lookup{
		ConfigMap: func(namespace, name string) (*corev1.ConfigMap, sources.State) {
			for _, cm := range d.files.ConfigMaps {
				if cm.Namespace == namespace && cm.Name == name {
					return cm, sources.Found
				}
			}
			return nil, sources.Missing
		},
		ChannelFinder: d.finder.Names,
		Held:          d.held,
	}
}

// held returns the PVs that are captured for a group, prefixed with their providers.
func (d *Driver) held(group string) (names []string) {
	for _, channels := range d.compiled.Assignment {
		for i := range channels {
			if channels[i].Group == group {
				names = append(names, compile.Name(&channels[i]))
			}
		}
	}
	return names
}
