package agent

import (
	"context"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/mirror"
	"varve.dev/varve/engine"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/guard"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/groups/channellist"
)

// Engine is what the agent drives; engine.Engine is one.
type Engine interface {
	// Apply makes an assignment the one that is captured. Shards that are not in
	// it are released.
	Apply(a engine.Assignment)
	// Held returns the shards whose claim is open, or being closed.
	Held() []int
	ShardStatus(shard int) engine.ShardStatus
	// Sealing returns the shards that the engine seals: the role may pass without an
	// order.
	Sealing() map[int]bool
	// Waiting returns the shards of which samples wait that the store did not take, and
	// for how long at least.
	Waiting() map[int]time.Duration
	// Delete deletes the data of PVs that are not captured.
	Delete(ctx context.Context, shard int, pvs []string) error
	Writer() store.WriterID
	Summary() engine.Summary
	// Storage says why the store does not take samples; empty while it does.
	Storage() string
	// DiskGuard says what the disk guard does, where this engine decides that.
	DiskGuard() guard.Status
}

// Channels tells the state of PVs being captured; capture.Manager is one.
type Channels interface {
	Statuses() iter.Seq[capture.Status]
	Shard(pv string) (shard int, captured bool)
}

// Config of an Agent.
type Config struct {
	// Name of the engine, which is that of its pod; Archiver the one it belongs to.
	Name, Namespace, Archiver string
	// PodUID lets the Lease go with the pod; empty: the Lease stays.
	PodUID types.UID
	// Shards is the number of shards of the archive, without those for PVs that two
	// engines capture.
	Shards int
	// State is a directory that outlives a container; empty: none.
	State string
	// Version of the program, for the report.
	Version string

	Client     client.WithWatch
	Engine     Engine
	Channels   Channels
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Agent drives an engine. Create it with New and keep it going with Run.
type Agent struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
	started time.Time
	wake    chan struct{} // holds one token: there is something to look at
	unsaved chan struct{} // holds one token: the state on disk is old

	objects *mirror.Objects[*v1alpha1.ArchiveShard]
	lists   *mirror.Lists[*list]
	writes  *worker         // shards whose status is to be written
	looks   *worker         // shards whose ArchiveShard is to be asked for by name
	deletes *worker         // shards with data to be deleted
	state   *stateDirectory // nil: none
	reports reports

	mu     sync.Mutex
	shards map[int]*shard
	// assigned says that the engine got an assignment: an empty one is given only
	// after another.
	assigned bool
	draining *draining // nil: nobody asked to end
}

// New returns an agent that does nothing yet. The assignment that the state on
// disk has is given to the engine at once, so that capture does not wait for the
// API server.
func New(cfg Config) *Agent {
	a := &Agent{
		cfg: cfg, log: cfg.Log, metrics: newMetrics(cfg.Registerer), started: time.Now(),
		wake: make(chan struct{}, 1), unsaved: make(chan struct{}, 1), shards: map[int]*shard{},
	}
	a.objects = mirror.NewObjects[*v1alpha1.ArchiveShard](cfg.Client, &v1alpha1.ArchiveShardList{},
		mirror.Select{Namespace: cfg.Namespace, Has: []string{v1alpha1.EngineLabel(cfg.Name)}}, a.poke)
	a.lists = mirror.NewLists(cfg.Client, cfg.Namespace, decodeList, a.poke, cfg.Log)
	a.writes = newWorker(4, a.write)
	a.looks = newWorker(2, a.lookUp)
	a.deletes = newWorker(1, a.delete)
	if cfg.State != "" {
		a.state = &stateDirectory{path: cfg.State, engine: cfg.Name, archiver: cfg.Archiver}
		a.restore()
	}
	return a
}

func decodeList(data []byte) (*list, error) {
	channels, err := channellist.Decode(data)
	if err != nil {
		return nil, err
	}
	return &list{data: data, channels: channels}, nil
}

// poke makes the agent look at everything soon. It never blocks.
func (a *Agent) poke() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// How often the agent looks at everything, if nothing wakes it: often while a
// phase is to end.
const (
	busyEvery = 200 * time.Millisecond
	idleEvery = time.Second
)

// Run drives the engine until ctx ends. No error ends it. It leaves the engine
// with the assignment that it has.
func (a *Agent) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, run := range []func(context.Context){
		a.objects.Run, a.lists.Run, a.writes.run, a.looks.run, a.deletes.run, a.keepLease, a.keepState,
	} {
		wg.Go(func() { run(ctx) })
	}
	defer wg.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var standing stall
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		case <-timer.C:
		}
		every := busyEvery
		if now := time.Now(); standing.over(now) && !a.step(now) {
			every = idleEvery
		}
		standing.ran(time.Now())
		timer.Reset(every)
	}
}

// Ready returns why the agent can not do its work yet, or any more; nil if it
// can. It needs no API server once it knows what to do.
func (a *Agent) Ready() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.draining != nil:
		return errDraining
	case !a.assigned && !a.objects.Synced():
		return errNoAnswer
	}
	return nil
}
