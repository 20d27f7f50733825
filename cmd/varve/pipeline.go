package main

import (
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
)

// pipelineOptions are what the flags and the environment of every program that
// captures set.
type pipelineOptions struct {
	memory            byteSize
	flush, checkpoint time.Duration
	storage           storageOptions
	ca                ca.Config
	pva               pva.Config
}

func (o *pipelineOptions) add(f *pflag.FlagSet) {
	o.memory = 1 << 30
	f.Var(&o.memory, "memory", "samples held in memory at most, such as 512Mi or 2Gi")
	f.DurationVar(&o.flush, "flush", 500*time.Millisecond, "longest wait before a sample is sent to the store")
	f.DurationVar(&o.checkpoint, "checkpoint", 15*time.Minute, "time between writing samples into blocks")
	o.storage.add(f)
}

func (o *pipelineOptions) check() error {
	switch {
	case o.flush < 10*time.Millisecond || o.flush > time.Minute:
		return fmt.Errorf("--flush: %v is not between 10ms and 1m", o.flush)
	case o.checkpoint < time.Second || o.checkpoint > 6*time.Hour:
		return fmt.Errorf("--checkpoint: %v is not between 1s and 6h", o.checkpoint)
	case o.memory < 16<<20:
		return fmt.Errorf("--memory: %v is less than 16Mi", &o.memory)
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

// newPipeline starts the clients, for an engine that writes to the store of r.
func (r *resources) newPipeline(o *pipelineOptions, shards int, reg prometheus.Registerer, log *slog.Logger) (*engine.Engine, error) {
	if err := r.openSources(o.ca, o.pva, reg, log); err != nil {
		return nil, err
	}
	return engine.New(engine.Options{
		Store: r.store, Sources: r.sources, Shards: shards, Flush: o.flush, Checkpoint: o.checkpoint, Memory: int64(o.memory),
		Exclusive: o.storage.locked(), Registerer: reg, Log: log,
	}), nil
}

// logStopped says what an engine did in its life.
func logStopped(log *slog.Logger, e *engine.Engine) {
	sum := e.Summary()
	log.Info("stopped", "received", sum.Received, "stored", sum.Stored, "pending", sum.Pending, "dropped", drops(sum))
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
