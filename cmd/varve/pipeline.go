package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"varve.dev/varve/engine"
	"varve.dev/varve/engine/ca"
	epics "varve.dev/varve/engine/client"
	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/pva"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/spool"
)

// pipelineOptions are the flags and environment variables of every program that captures.
type pipelineOptions struct {
	memory, spoolSize byteSize
	diskLimit         byteSize
	diskKeep          age
	diskWarnOnly      bool
	spool             string
	flush, checkpoint time.Duration
	checkQuiet        time.Duration
	storage           storageOptions
	alone             bool // no other engine takes over when this one stops
	clock             *clock.Clock
	ca                ca.Config
	pva               pva.Config
}

// pipelineDefaults returns the default options.
func pipelineDefaults() pipelineOptions {
	return pipelineOptions{memory: 1 << 30, spoolSize: 10 << 30, flush: 500 * time.Millisecond, checkpoint: 15 * time.Minute, checkQuiet: epics.DefaultCheckEvery, diskKeep: "1d"}
}

func (o *pipelineOptions) add(f *pflag.FlagSet) {
	*o = pipelineDefaults()
	f.Var(&o.memory, "memory", "maximum memory for samples, such as 512Mi or 2Gi")
	f.StringVar(&o.spool, "spool", "", "directory for samples while Cassandra is unreachable (default: they wait in memory)")
	f.Var(&o.spoolSize, "spool-size", "maximum size of the spool; beyond it the oldest samples are dropped")
	f.Var(&o.diskLimit, "disk-limit",
		"maximum size of the archive on disk, including all replicas; the oldest raw samples are deleted at 90 % of it (0: Cassandra's data_disk_usage_max_disk_size if set, otherwise no limit)")
	f.Var(&o.diskKeep, "disk-keep", "minimum age of the raw samples that are deleted near the disk limit, such as 30d; at least 1d")
	f.BoolVar(&o.diskWarnOnly, "disk-warn-only", o.diskWarnOnly, "near the disk limit, delete nothing and only warn")
	addDuration(f, &o.flush, "flush", o.flush, "maximum time before a sample is sent to the store")
	addDuration(f, &o.checkpoint, "checkpoint", o.checkpoint, "time between writes of samples into blocks")
	addDuration(f, &o.checkQuiet, "check-quiet", o.checkQuiet, "how long a connected PV may have no update before its value is read, to find dead subscriptions (0: never)")
	o.storage.add(f)
}

// leastDiskLimit is the smallest valid --disk-limit. A nearly empty archive in a directory is smaller.
const leastDiskLimit = 128 << 20

func (o *pipelineOptions) check() error {
	if err := o.checkTimes(); err != nil {
		return err
	}
	switch {
	case o.memory < 16<<20:
		return fmt.Errorf("--memory: %v is less than 16Mi", &o.memory)
	}
	return o.checkDisk()
}

// checkDisk checks the flags about the disk and the store.
func (o *pipelineOptions) checkDisk() error {
	switch {
	case o.spoolSize < spool.MinSize:
		return fmt.Errorf("--spool-size: %v is less than 64Mi", &o.spoolSize)
	case o.diskLimit != 0 && o.diskLimit < leastDiskLimit:
		return fmt.Errorf("--disk-limit: %v is less than 128Mi", &o.diskLimit)
	case o.diskKeep != "" && o.diskKeep.duration() < 24*time.Hour:
		return fmt.Errorf("--disk-keep: %v is less than 1d", &o.diskKeep)
	case o.spool != "" && o.storage.locked():
		return errors.New("--spool requires --cassandra: an archive in --data is already on a local disk")
	}
	return o.storage.check()
}

func (o *pipelineOptions) checkTimes() error {
	switch {
	case o.flush < 10*time.Millisecond || o.flush > time.Minute:
		return fmt.Errorf("--flush: %v is not between 10ms and 1m", o.flush)
	case o.checkpoint < time.Second || o.checkpoint > 6*time.Hour:
		return fmt.Errorf("--checkpoint: %v is not between 1s and 6h", o.checkpoint)
	case o.checkQuiet != 0 && (o.checkQuiet < 10*time.Second || o.checkQuiet > 24*time.Hour):
		return fmt.Errorf("--check-quiet: %v is neither 0 nor between 10s and 24h", o.checkQuiet)
	}
	return nil
}

// readEnvironment reads the EPICS variables.
func (o *pipelineOptions) readEnvironment() (err error) {
	if o.ca, err = ca.ConfigFromEnv(os.LookupEnv); err != nil {
		return err
	}
	if o.pva, err = pva.ConfigFromEnv(os.LookupEnv); err != nil {
		return err
	}
	o.ca.CheckEvery, o.pva.CheckEvery = o.checkQuiet, o.checkQuiet
	o.pva.MaxArrayBytes = o.ca.MaxArrayBytes // pvAccess has no variable of its own
	return nil
}

// useClock makes the program compare the clock of this machine with others. It must be called
// before the store is opened, whose TTLs depend on it.
func (o *pipelineOptions) useClock(log *slog.Logger) {
	o.clock = clock.New(clock.Config{Boot: clock.SinceBoot, Log: log})
	o.storage.earliest = o.clock.Earliest
}

// openSpool opens the spool if --spool is set.
func (r *resources) openSpool(o *pipelineOptions, shards int, reg prometheus.Registerer, log *slog.Logger) (err error) {
	if o.spool == "" {
		return nil
	}
	r.spool, err = spool.Open(spool.Config{
		Dir: o.spool, Size: int64(o.spoolSize), Sync: o.flush, Now: o.clock.Now, Registerer: reg, Log: log,
		Archive: fmt.Sprintf("the keyspace %s of Cassandra, with %d shards", o.storage.keyspace, cmp.Or(shards, engine.DefaultShards)),
	})
	if err != nil {
		return fmt.Errorf("--spool: %w", err)
	}
	return nil
}

// receiveShare is the part of --memory that circuits may use in addition to receive frames.
const receiveShare = 4

// newPipeline starts the protocol clients and returns an engine that writes to r.store.
func (r *resources) newPipeline(o *pipelineOptions, shards int, reg prometheus.Registerer, log *slog.Logger) (*engine.Engine, error) {
	if err := r.openSpool(o, shards, reg, log); err != nil {
		return nil, err
	}
	r.heap = limitHeap(int64(o.memory))
	receive := epics.NewReceiveMemory(int(o.memory)/receiveShare, o.ca.MaxArrayBytes)
	if err := r.openSources(o.ca, o.pva, receive, reg, log); err != nil {
		return nil, err
	}
	return engine.New(engine.Options{
		Store: r.store, Sources: r.sources, Shards: shards, Flush: o.flush, Checkpoint: o.checkpoint, Memory: int64(o.memory),
		DiskLimit: int64(o.diskLimit), DiskKeep: o.diskKeep.duration(), DiskWarnOnly: o.diskWarnOnly, Reclaim: o.storage.reclaim(),
		Spool: r.spool, Exclusive: o.storage.locked(), Alone: o.alone, Clock: o.clock, Registerer: reg, Log: log,
	}), nil
}

// logStopped logs the sample counts of an engine that has stopped.
func logStopped(log *slog.Logger, e *engine.Engine) {
	sum := e.Summary()
	log.Info("stopped", "received", sum.Received, "stored", sum.Stored, "pending", sum.Pending, "dropped", drops(sum))
	if sum.Spooled > 0 {
		log.Warn("samples remain in the spool; they are stored after the next start", "samples", sum.Spooled)
	}
}

// unsavedError returns an error if samples are lost.
func unsavedError(samples int) error {
	if samples == 0 {
		return nil
	}
	return fmt.Errorf("%d samples are lost: the store did not acknowledge them before the stop", samples)
}

// drops formats the counts of dropped samples by reason.
func drops(s engine.Summary) string {
	by := map[string]uint64{}
	for r, n := range s.Dropped {
		if n > 0 {
			by[sample.Reason(r).String()] = n
		}
	}
	return reasons(by)
}
