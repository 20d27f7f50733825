package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"varve.dev/varve/agent"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/engine"
	"varve.dev/varve/engine/nameindex"
	"varve.dev/varve/engine/peer"
	"varve.dev/varve/engine/serve"
	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/groups/summary"
	"varve.dev/varve/retrieval/policies"
)

// engineOptions are the flags of `varve engine`.
type engineOptions struct {
	clusterOptions
	pipelineOptions
	name, listen, state string
	internal, metrics   string
	tls                 internalTLS
	retrieval           bool
	access              accessOptions
	through             throughOptions
	drainTimeout        time.Duration
	log                 *slog.Logger
}

func newEngine() *cobra.Command {
	var logs logFlags
	var o engineOptions
	cmd := &cobra.Command{
		Use:   "engine",
		Short: "Capture the shards assigned to this engine (run by the operator)",
		Long: `Captures the PVs of the ArchiveShards that name this engine. The operator runs it in the
engine pods of an Archiver. It continues with its last known assignment while the API
server, the operator or Cassandra are unreachable.

The usual environment variables configure Channel Access and pvAccess:
` + epicsVariables + `.
POD_UID, if set, makes the pod the owner of the engine's Lease.

With --internal-tls-dir, only the retrieval pods and the operator of this archive may use the
paths below /internal. They prove their identity by certificates.

On SIGTERM the engine hands its shards over to other engines before it exits.`,
		Example: `  # As in a pod:
  varve engine --name $(POD_NAME) --namespace $(POD_NAMESPACE) --archiver main \
    --listen :17665 --state /run/varve --cassandra cass-1,cass-2 --cassandra-datacenter dc1

  # By hand, outside of the cluster:
  varve engine --kubeconfig ~/.kube/config --name debug --namespace beamline --archiver main \
    --listen 127.0.0.1:17666 --data /tmp/varve-debug --retrieval`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.log, err = logs.logger(); err != nil {
				return err
			}
			if err := o.readEnvironment(); err != nil {
				return err
			}
			logKubernetes(o.log)
			p, err := openEngine(&o)
			if err != nil {
				return err
			}
			return p.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	o.clusterOptions.add(f)
	f.StringVar(&o.name, "name", "", "name of the engine, which is the name of its pod (required)")
	f.StringVar(&o.listen, "listen", "127.0.0.1:17665", "address to serve HTTP at")
	f.StringVar(&o.internal, "internal-listen", "", "address of a separate port for the paths below /internal (default: --listen serves them)")
	o.tls.add(f)
	o.tls.addOperator(f)
	addMetricsListen(f, &o.metrics)
	o.access.add(f)
	f.StringVar(&o.state, "state", "", "directory that keeps the assignment across restarts of the container (default: none)")
	f.BoolVar(&o.retrieval, "retrieval", false, "also serve the read APIs")
	o.through.add(f)
	addDuration(f, &o.drainTimeout, "drain-timeout", 270*time.Second, "maximum time to hand over shards after SIGTERM")
	o.pipelineOptions.add(f)
	logs.add(cmd)
	return cmd
}

func (o *engineOptions) check() error {
	if err := o.clusterOptions.check(); err != nil {
		return err
	}
	if err := checkName("--name", o.name); err != nil {
		return err
	}
	if o.drainTimeout < 0 {
		return fmt.Errorf("--drain-timeout: %v is negative", o.drainTimeout)
	}
	if err := o.checkAccess(); err != nil {
		return err
	}
	if err := o.checkInternalTLS(); err != nil {
		return err
	}
	return o.pipelineOptions.check()
}

// checkAccess checks the flags about reading. The operator and other pods send no
// credentials, so /internal needs another port than the readers.
func (o *engineOptions) checkAccess() error {
	switch {
	case o.access.audit != "" && o.access.file == "":
		return errAuditAlone
	case o.access.file != "" && !o.retrieval:
		return errors.New("--access: it needs --retrieval, because an engine without it serves no read APIs")
	case o.through.url != "" && !o.retrieval:
		return errors.New("--read-through: it needs --retrieval, because an engine without it serves no read APIs")
	case o.access.file != "" && o.internal == "":
		return errors.New("--access: it needs --internal-listen, because the operator sends no credentials to /internal")
	}
	return nil
}

// enginePod is an engine with its agent.
type enginePod struct {
	opts *engineOptions
	resources
	engine *engine.Engine
	agent  *agent.Agent
	// policies are nil unless the engine serves the read APIs.
	policies *policies.Policies
	gate     gate
	older    *older
	handler  http.Handler
	// names are nil unless the engine serves the read APIs.
	names *nameindex.Index
}

// openEngine checks the options and acquires all resources.
func openEngine(o *engineOptions) (_ *enginePod, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	p := &enginePod{opts: o}
	defer func() {
		if err != nil {
			p.release(o.log)
			p.gate.close(o.log)
		}
	}()
	reg := newRegistry()
	p.metrics = reg
	o.useClock(o.log)
	api, err := p.openPod(&o.clusterOptions, o.listen, &o.storage, reg, o.log)
	if err != nil {
		return nil, err
	}
	if p.engine, err = p.newPipeline(&o.pipelineOptions, o.shards, reg, o.log); err != nil {
		return nil, err
	}
	p.agent = agent.New(agent.Config{
		Name: o.name, Namespace: o.namespace, Archiver: o.archiver, PodUID: types.UID(os.Getenv("POD_UID")),
		Shards: o.shards, State: o.state, Version: version(), Store: p.store,
		Client: api, Engine: p.engine, Channels: p.engine.Capture(), Registerer: reg, Log: o.log,
	})
	if o.retrieval {
		p.policies = policies.New(api, o.namespace, o.archiver, o.state, o.log)
	}
	return p, p.serve(reg)
}

// serve creates the HTTP handler.
func (p *enginePod) serve(reg *prometheus.Registry) (err error) {
	internal := func(mux *http.ServeMux) {
		mux.Handle("GET "+report.Path, p.agent)
		peer.NewHandler(p.engine, p.engine.Busy, reg).Register(mux)
	}
	cfg := &serve.Config{
		Gatherer: reg, Registerer: reg, Metrics: serve.NewMetrics(reg), Ready: p.agent.Ready, Warnings: p.engine.Capture().Problems,
		Archive: p.opts.archive(), Version: version(), Now: time.Now, Log: p.opts.log,
	}
	if err := p.bindMetrics(p.opts.metrics, cfg); err != nil {
		return err
	}
	if err := p.serveInternal(cfg, internal); err != nil {
		return err
	}
	if p.opts.retrieval {
		cfg.Reader = newReader(p.store, p.engine, p.engine.Shards(), p.engine.Capture(), p.opts.clock, p.opts.log)
		p.names = cfg.Reader.Index
		p.opts.through.later = true // capture does not depend on credentials for reading
		if p.older, err = p.opts.through.open(cfg.Reader, reg, restricted()); err != nil {
			return err
		}
		cfg.Names = p.engine.Names()
		cfg.Channels, cfg.Reads, cfg.Policies = p.engine, readsBesideCapturing, p.policies.Current
		started := time.Now()
		cfg.Overview = overview.Sources{
			Engines: func(context.Context) overview.Fleet { return fleetOfOne(p.engine, p.opts.name, started) },
			Check:   func(text []byte) overview.Checked { return summary.Check(text, "") },
		}
		if err := p.openGate(&p.gate, &p.opts.access, &p.opts.clusterOptions, cfg); err != nil {
			return err
		}
	}
	if p.handler, err = p.older.handler(cfg); err != nil {
		return err
	}
	p.authenticate(reg)
	return nil
}

// serveInternal adds the paths below /internal to the port of --internal-listen, or to that of --listen.
func (p *enginePod) serveInternal(cfg *serve.Config, internal func(*http.ServeMux)) error {
	if p.opts.internal == "" {
		cfg.Extra = internal
		return nil
	}
	own := *cfg
	own.Extra, own.Warnings = internal, nil // warnings may name PVs
	handler, err := serve.New(&own)
	if err != nil {
		return err
	}
	return p.bindSide("--internal-listen", p.opts.internal, handler)
}

// run captures until ctx ends, then hands over the shards and stops all parts in order.
func (p *enginePod) run(ctx context.Context) error {
	defer p.release(p.opts.log)
	defer p.gate.close(p.opts.log)
	defer p.gate.run()()
	defer p.older.close()
	log := p.opts.log
	failed, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	stopSides := p.serveSides(log, fail)
	stopHTTP := serveHTTP(p.listener, p.handler, log, fail)
	log.Info("serving", "addr", p.listener.Addr().String(), "store", p.opts.storage.where(), "engine", p.opts.name)

	capturing, endCapture := context.WithCancel(context.WithoutCancel(ctx))
	defer endCapture()
	answering, endAgent := context.WithCancel(context.WithoutCancel(ctx))
	defer endAgent()
	unsaved := 0
	var capture, agents sync.WaitGroup
	capture.Go(func() { unsaved = p.engine.Run(capturing) })
	agents.Go(func() { p.agent.Run(answering) })
	if p.policies != nil {
		agents.Go(func() { p.policies.Run(answering) })
	}
	if p.names != nil {
		agents.Go(func() { p.names.Run(answering) })
	}

	<-failed.Done()
	if ctx.Err() != nil {
		p.drain(ctx)
	}
	endCapture()
	capture.Wait()
	endAgent()
	agents.Wait()
	stopHTTP(0, 2*time.Second)
	stopSides()

	logStopped(log, p.engine)
	if ctx.Err() != nil {
		return unsavedError(unsaved)
	}
	return errors.Join(context.Cause(failed), unsavedError(unsaved))
}

// drain hands over the shards to other engines, unless no other engine can use the store.
func (p *enginePod) drain(ctx context.Context) {
	if p.opts.storage.locked() {
		return // no other engine can write to this store
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.opts.drainTimeout)
	defer cancel()
	p.opts.log.Info("handing over the shards", "at_most", p.opts.drainTimeout.String())
	p.opts.log.Info("shards handed over", "outcome", p.agent.Drain(limit))
}
