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
	"varve.dev/varve/engine/pva"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/spool"
)

// pipelineOptions are what the flags and the environment of every program that
// captures set.
type pipelineOptions struct {
	memory, spoolSize byteSize
	diskLimit         byteSize
	spool             string
	flush, checkpoint time.Duration
	storage           storageOptions
	ca                ca.Config
	pva               pva.Config
}

// pipelineDefaults are the options when nobody sets a flag.
func pipelineDefaults() pipelineOptions {
	return pipelineOptions{memory: 1 << 30, spoolSize: 10 << 30, flush: 500 * time.Millisecond, checkpoint: 15 * time.Minute}
}

func (o *pipelineOptions) add(f *pflag.FlagSet) {
	*o = pipelineDefaults()
	f.Var(&o.memory, "memory", "samples held in memory at most, such as 512Mi or 2Gi")
	f.StringVar(&o.spool, "spool", "", "directory to keep samples in while Cassandra is away; empty: they wait in memory")
	f.Var(&o.spoolSize, "spool-size", "bytes that --spool may take before the oldest samples are dropped")
	f.Var(&o.diskLimit, "disk-limit",
		"bytes of disk that the archive may take, in all replicas: the oldest raw samples go at 90 % of it (0: Cassandra's data_disk_usage_max_disk_size if it is set, or else none)")
	f.DurationVar(&o.flush, "flush", o.flush, "longest wait before a sample is sent to the store")
	f.DurationVar(&o.checkpoint, "checkpoint", o.checkpoint, "time between writing samples into blocks")
	o.storage.add(f)
}

// leastDiskLimit is more than an archive in a directory takes that holds next to nothing.
const leastDiskLimit = 128 << 20

func (o *pipelineOptions) check() error {
	switch {
	case o.flush < 10*time.Millisecond || o.flush > time.Minute:
		return fmt.Errorf("--flush: %v is not between 10ms and 1m", o.flush)
	case o.checkpoint < time.Second || o.checkpoint > 6*time.Hour:
		return fmt.Errorf("--checkpoint: %v is not between 1s and 6h", o.checkpoint)
	case o.memory < 16<<20:
		return fmt.Errorf("--memory: %v is less than 16Mi", &o.memory)
	case o.spoolSize < spool.MinSize:
		return fmt.Errorf("--spool-size: %v is less than 64Mi", &o.spoolSize)
	case o.diskLimit != 0 && o.diskLimit < leastDiskLimit:
		return fmt.Errorf("--disk-limit: %v is less than 128Mi", &o.diskLimit)
	case o.spool != "" && o.storage.locked():
		return errors.New("--spool: it is for an archive in Cassandra; one in --data is on a disk of this machine already")
	}
	return nil
}

// readEnvironment takes up the variables of EPICS.
func (o *pipelineOptions) readEnvironment() (err error) {
	if o.ca, err = ca.ConfigFromEnv(os.LookupEnv); err != nil {
		return err
	}
	if o.pva, err = pva.ConfigFromEnv(os.LookupEnv); err != nil {
		return err
	}
	o.pva.MaxArrayBytes = o.ca.MaxArrayBytes // pvAccess has no variable for it
	return nil
}

// openSpool opens the spool that the flags ask for, if any.
func (r *resources) openSpool(o *pipelineOptions, shards int, reg prometheus.Registerer, log *slog.Logger) (err error) {
	if o.spool == "" {
		return nil
	}
	r.spool, err = spool.Open(spool.Config{
		Dir: o.spool, Size: int64(o.spoolSize), Sync: o.flush, Registerer: reg, Log: log,
		Archive: fmt.Sprintf("the keyspace %s of Cassandra, with %d shards", o.storage.keyspace, cmp.Or(shards, engine.DefaultShards)),
	})
	if err != nil {
		return fmt.Errorf("--spool: %w", err)
	}
	return nil
}

// newPipeline starts the clients, for an engine that writes to the store of r.
func (r *resources) newPipeline(o *pipelineOptions, shards int, reg prometheus.Registerer, log *slog.Logger) (*engine.Engine, error) {
	if err := r.openSpool(o, shards, reg, log); err != nil {
		return nil, err
	}
	if err := r.openSources(o.ca, o.pva, reg, log); err != nil {
		return nil, err
	}
	return engine.New(engine.Options{
		Store: r.store, Sources: r.sources, Shards: shards, Flush: o.flush, Checkpoint: o.checkpoint, Memory: int64(o.memory),
		DiskLimit: int64(o.diskLimit), Reclaim: o.storage.reclaim(),
		Spool: r.spool, Exclusive: o.storage.locked(), Registerer: reg, Log: log,
	}), nil
}

// logStopped says what an engine did in its life.
func logStopped(log *slog.Logger, e *engine.Engine) {
	sum := e.Summary()
	log.Info("stopped", "received", sum.Received, "stored", sum.Stored, "pending", sum.Pending, "dropped", drops(sum))
	if sum.Spooled > 0 {
		log.Warn("samples wait in the spool: the next start stores them", "samples", sum.Spooled)
	}
}

// unsavedError says that samples are lost, if any are.
func unsavedError(samples int) error {
	if samples == 0 {
		return nil
	}
	return fmt.Errorf("stopped with %d samples that the store did not acknowledge: they are lost", samples)
}

// drops lists counts of dropped samples by reason.
func drops(s engine.Summary) string {
	by := map[string]uint64{}
	for r, n := range s.Dropped {
		if n > 0 {
			by[sample.Reason(r).String()] = n
		}
	}
	return reasons(by)
}
