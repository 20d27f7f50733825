package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/nameindex"
	"varve.dev/varve/engine/names"
	"varve.dev/varve/engine/serve"
	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/retrieval/groups"
	"varve.dev/varve/retrieval/policies"
	"varve.dev/varve/retrieval/requests"
	"varve.dev/varve/retrieval/routing"
)

// retrievalOptions are the flags of `varve retrieval`.
type retrievalOptions struct {
	clusterOptions
	listen     string
	metrics    string
	enginePort int
	tls        internalTLS
	access     accessOptions
	through    throughOptions
	storage    storageOptions
	log        *slog.Logger
}

// endpointDelay is how long a Service may still send requests to a pod that is being stopped,
// until all nodes have updated their endpoints.
const endpointDelay = 5 * time.Second

func newRetrieval() *cobra.Command {
	var logs logFlags
	var o retrievalOptions
	cmd := &cobra.Command{
		Use:   "retrieval",
		Short: "Serve the archive of an Archiver over HTTP (run by the operator)",
		Long: `Serves the archive of an Archiver over HTTP. The operator runs it in the retrieval pods.
It fetches samples that are not in the store yet from the engines, which it finds by the
ArchiveShards. While the API server is down, it uses the engines and the ArchivePolicies that it
knows. Until it has read the ArchivePolicies, it answers no reads.`,
		Example: `  # As in a pod:
  varve retrieval --namespace $(POD_NAMESPACE) --archiver main --listen :17665 \
    --cassandra cass-1,cass-2 --cassandra-datacenter dc1

  # By hand, outside of the cluster, where pods can be reached:
  varve retrieval --kubeconfig ~/.kube/config --namespace beamline --archiver main --cassandra cass-1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.log, err = logs.logger(); err != nil {
				return err
			}
			logKubernetes(o.log)
			p, err := openRetrieval(&o)
			if err != nil {
				return err
			}
			return p.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	o.clusterOptions.add(f)
	f.StringVar(&o.listen, "listen", "127.0.0.1:17665", "address of the HTTP server")
	addMetricsListen(f, &o.metrics)
	o.access.add(f)
	o.through.add(f)
	f.IntVar(&o.enginePort, "engine-port", 17665, "port of the engines for the paths below /internal")
	o.tls.add(f)
	o.storage.addCassandra(f)
	logs.add(cmd)
	return cmd
}

func (o *retrievalOptions) check() error {
	if err := o.clusterOptions.check(); err != nil {
		return err
	}
	if o.enginePort < 1 || o.enginePort > 65535 {
		return fmt.Errorf("--engine-port: %d is not a port", o.enginePort)
	}
	if o.storage.locked() {
		return errors.New("--cassandra is required: name at least one contact point")
	}
	if o.access.audit != "" && o.access.file == "" {
		return errAuditAlone
	}
	return o.tls.check()
}

// retrievalPod serves an archive.
type retrievalPod struct {
	opts *retrievalOptions
	resources
	routing *routing.Router
	groups  *groups.Groups
	// policies say who may read which PVs, in addition to the access file.
	policies *policies.Policies
	clock    *clock.Clock
	names    *nameindex.Index
	gate     gate
	older    *older
	handler  http.Handler
}

// ready returns an error while the pod cannot answer reads.
func (p *retrievalPod) ready() error {
	if err := p.policies.Ready(); err != nil {
		return err
	}
	return p.routing.Ready()
}

// openRetrieval checks the options and acquires all resources.
func openRetrieval(o *retrievalOptions) (_ *retrievalPod, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	p := &retrievalPod{opts: o}
	defer func() {
		if err != nil {
			p.release(o.log)
			p.gate.close(o.log)
		}
	}()
	reg := newRegistry()
	p.metrics = reg
	api, err := p.openPod(&o.clusterOptions, o.listen, &o.storage, reg, o.log)
	if err != nil {
		return nil, err
	}
	p.clock = clock.New(clock.Config{Boot: clock.SinceBoot, Log: o.log})
	p.clock.Register(reg)
	if st, has := p.store.(clock.Store); has {
		p.clock.Use(st)
	}
	p.routing = routing.New(routing.Config{
		Namespace: o.namespace, Archiver: o.archiver, Shards: o.shards, Port: o.enginePort, Client: api, Registerer: reg, Now: p.clock.Now, Log: o.log,
		Dialer: o.dialer(reg),
	})
	p.groups, p.policies = groups.New(api, o.namespace, o.archiver), policies.New(api, o.namespace, o.archiver, "", o.log)
	reader := newReader(p.store, p.routing, o.shards, p.routing, p.clock, o.log)
	p.names = reader.Index
	if p.older, err = o.through.open(reader, reg, restricted()); err != nil {
		return nil, err
	}
	cfg := &serve.Config{
		Reader:   reader,
		Channels: p.routing, Names: names.NewBook(p.store, o.log), Reads: readsAtOnce, Extra: p.routing.Register, Calls: routing.Section(),
		Overview: overview.Sources{Engines: p.routing.Fleet, Groups: p.groups.All, Group: p.groups.One, Check: p.groups.Check},
		Gatherer: reg, Registerer: reg, Metrics: serve.NewMetrics(reg),
		Policies: p.policies.Current, Ready: p.ready, Archive: o.archive(), Version: version(), Now: time.Now, Log: o.log,
	}
	if o.access.file != "" { // without it, nobody knows who sends a request
		cfg.Edit = (&requests.Editor{
			Client: api, Namespace: o.namespace, Archiver: o.archiver, Accepting: p.groups.Accepting, Policies: p.policies.Current, Now: time.Now, Log: o.log,
		}).Edit
	}
	if err = p.openGate(&p.gate, &o.access, &o.clusterOptions, cfg); err != nil {
		return nil, err
	}
	if err = p.bindMetrics(o.metrics, cfg); err != nil {
		return nil, err
	}
	p.handler, err = p.older.handler(cfg)
	return p, err
}

// run serves until ctx ends.
func (p *retrievalPod) run(ctx context.Context) error {
	defer p.release(p.opts.log)
	defer p.gate.close(p.opts.log)
	defer p.gate.run()()
	defer p.older.close()
	failed, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	stopSides := p.serveSides(p.opts.log, fail)
	stopHTTP := serveHTTP(p.listener, p.handler, p.opts.log, fail)
	p.opts.log.Info("serving", "addr", p.listener.Addr().String(), "store", p.opts.storage.where())

	// Requests in flight when the pod is stopped still need the router.
	asking, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var wg sync.WaitGroup
	wg.Go(func() { p.routing.Run(asking) })
	wg.Go(func() { p.groups.Run(asking) })
	wg.Go(func() { p.clock.Run(asking) })
	wg.Go(func() { p.policies.Run(asking) })
	wg.Go(func() { p.names.Run(asking) })
	<-failed.Done()
	stopHTTP(endpointDelay, 30*time.Second)
	stopSides()
	end()
	wg.Wait()
	if ctx.Err() == nil {
		return context.Cause(failed)
	}
	return nil
}
