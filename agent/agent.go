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
	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/guard"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/groups/channellist"
)

// Engine is the engine that the agent drives. engine.Engine implements it.
type Engine interface {
	// Apply replaces the assignment. The engine releases shards that are not in it.
	Apply(a engine.Assignment)
	// Held returns the shards whose claim is open or being closed.
	Held() []int
	ShardStatus(shard int) engine.ShardStatus
	// Sealing returns the shards that the engine seals. It may become the sealer of a shard
	// without an order.
	Sealing() map[int]bool
	// Waiting returns the shards for which the engine holds samples that the store has not
	// accepted, with the minimum age of these samples.
	Waiting() map[int]time.Duration
	// Delete deletes the data of PVs that no engine captures.
	Delete(ctx context.Context, shard int, pvs []string) error
	// Erase deletes the samples of PVs in a range of time. It is repeated until all samples are removed.
	Erase(ctx context.Context, d engine.Deletion) (engine.Erased, error)
	Writer() store.WriterID
	Summary() engine.Summary
	// Storage returns why the store does not accept samples, or "" while it does.
	Storage() string
	// DiskGuard returns the state of the disk guard, if this engine runs it.
	DiskGuard() guard.Status
	// Clock returns the verdict about the clock of this machine.
	Clock() clock.Verdict
	// SealingLag returns how far the sealing of a shard is behind the journal, at most, and how many
	// shards are late.
	SealingLag() (worst seal.Lag, late int)
	// Damaged returns the stored objects that the engine found damaged since its start.
	Damaged() seal.Found
}

// Channels provides the state of the captured PVs. capture.Manager implements it.
type Channels interface {
	Statuses() iter.Seq[capture.Status]
	Shard(pv string) (shard int, captured bool)
	// Problems says why searches for captured channels may not reach all servers.
	Problems() []string
}

// Config configures an Agent.
type Config struct {
	// Name is the name of the engine and its pod. Archiver is the Archiver it belongs to.
	Name, Namespace, Archiver string
	// PodUID makes the pod the owner of the Lease. If empty, the Lease outlives the pod.
	PodUID types.UID
	// Shards is the archive's number of shards, not counting the shards for PVs that two
	// engines capture.
	Shards int
	// State is a directory that outlives the container, or "" for none.
	State string
	// Version is the version of the program, for the report.
	Version string
	// Store is the archive, whose format level the agent reports. Without it, the level is unknown.
	Store store.Format

	Client     client.WithWatch
	Engine     Engine
	Channels   Channels
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Agent drives an engine. Create it with New, then call Run.
type Agent struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
	started time.Time
	wake    chan struct{} // holds one token: reconcile soon
	unsaved chan struct{} // holds one token: the state on disk is outdated

	objects *mirror.Objects[*v1alpha1.ArchiveShard]
	lists   *mirror.Lists[*list]
	writes  *worker         // shards whose status must be written
	fetches *worker         // shards whose ArchiveShard is fetched by name
	deletes *worker         // shards with data to delete
	erases  *worker         // shards with samples to delete
	state   *stateDirectory // nil: none
	reports reports
	format  format
	asked   asked

	mu     sync.Mutex
	shards map[int]*shard
	// assigned means that the engine has received an assignment. The first assignment is
	// never empty.
	assigned bool
	draining *draining // nil until Drain is called
}

// New returns an agent. It applies the assignment from the state on disk to the engine, so
// that capture does not wait for the API server. The agent does nothing else until Run is
// called.
func New(cfg Config) *Agent {
	a := &Agent{
		cfg: cfg, log: cfg.Log, metrics: newMetrics(cfg.Registerer), started: time.Now(),
		wake: make(chan struct{}, 1), unsaved: make(chan struct{}, 1), shards: map[int]*shard{},
	}
	a.objects = mirror.NewObjects[*v1alpha1.ArchiveShard](cfg.Client, &v1alpha1.ArchiveShardList{},
		mirror.Select{Namespace: cfg.Namespace, Has: []string{v1alpha1.EngineLabel(cfg.Name)}}, a.poke)
	a.lists = mirror.NewLists(cfg.Client, cfg.Namespace, decodeList, a.poke, cfg.Log)
	a.writes = newWorker(4, a.writeStatus)
	a.fetches = newWorker(2, a.fetchShard)
	a.deletes = newWorker(1, a.deleteData)
	a.erases = newWorker(2, a.eraseSamples)
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

// poke makes the agent reconcile soon. It never blocks.
func (a *Agent) poke() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// These are the intervals at which the agent reconciles if nothing wakes it. The shorter one
// applies while a shard is joining or draining.
const (
	busyEvery = 200 * time.Millisecond
	idleEvery = time.Second
)

// Run drives the engine until ctx ends. Errors do not stop it. When it returns, the engine
// keeps its last assignment.
func (a *Agent) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, run := range []func(context.Context){
		a.objects.Run, a.lists.Run, a.writes.run, a.fetches.run, a.deletes.run, a.erases.run, a.keepLease, a.keepState, a.keepFormat,
	} {
		wg.Go(func() { run(ctx) })
	}
	defer wg.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var stalls stallDetector
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		case <-timer.C:
		}
		every := busyEvery
		if now := time.Now(); stalls.caughtUp(now) && !a.reconcile(now) {
			every = idleEvery
		}
		stalls.ran(time.Now())
		timer.Reset(every)
	}
}

// Ready returns an error until the agent knows its assignment, and while it is draining. Once
// the assignment is known, Ready does not depend on the API server.
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
