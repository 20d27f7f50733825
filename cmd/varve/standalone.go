package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"varve.dev/varve/engine"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve"
	"varve.dev/varve/groups/compile"
	"varve.dev/varve/groups/manifest"
	"varve.dev/varve/groups/standalone"
)

const standaloneExample = `  # Archive the groups in ./groups into ./data; edits are applied at once:
  varve standalone -f groups --data data

  # PVs of an IOC at a fixed address, into a Cassandra cluster:
  EPICS_CA_ADDR_LIST=10.1.2.3 EPICS_CA_AUTO_ADDR_LIST=NO \
    varve standalone -f groups/vacuum.yaml --cassandra cass-1,cass-2

  # groups/vacuum.yaml:
  apiVersion: varve.dev/v1alpha1
  kind: ArchiveGroup
  metadata: {name: vacuum}
  spec:
    archiverRef: {name: main}
    channels:
    - {name: "SR01-VA:PRES-01"}
    sampling: {mode: Monitor, deadband: {absolute: 0.01}}`

// standaloneOptions are the flags of `varve standalone`.
type standaloneOptions struct {
	pipelineOptions
	file, listen string
	pprof        string
	provider     providerFlag
	access       accessOptions
	policies     string
	through      throughOptions
	log          *slog.Logger
}

func newStandalone() *cobra.Command {
	var logs logFlags
	var o standaloneOptions
	cmd := &cobra.Command{
		Use:   "standalone",
		Short: "Archive the PVs of ArchiveGroup files in one process",
		Long: `Archives the PVs of ArchiveGroup files and serves the archive over HTTP, in one process.
It watches the files and applies edits without a restart.

The usual environment variables configure Channel Access and pvAccess:
` + epicsVariables + `.`,
		Example: standaloneExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.log, err = logs.logger(); err != nil {
				return err
			}
			if err := o.readEnvironment(); err != nil {
				return err
			}
			s, err := openStandalone(cmd.Context(), &o)
			if err != nil {
				return err
			}
			o.log.Info("serving", "url", s.url(), "store", o.storage.where())
			err = s.run(cmd.Context())
			logStopped(o.log, s.Engine)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "", "file or directory with ArchiveGroups (required)")
	f.StringVar(&o.listen, "listen", "127.0.0.1:17665", "address of the HTTP server; other than loopback only with --access")
	o.access.add(f)
	f.StringVar(&o.policies, "policies", "", "YAML file of ArchivePolicies, which say which groups own PVs and who may read them; edits are applied at once (default: none)")
	o.through.add(f)
	f.Var(&o.provider, "provider", "default protocol of channels: CA or PVA")
	f.StringVar(&o.pprof, "pprof", "", "address of a server for Go profiles, such as 127.0.0.1:6060 (default: none)")
	o.pipelineOptions.add(f)
	logs.add(cmd)
	_ = cmd.MarkFlagRequired("file")
	return cmd
}

func (o *standaloneOptions) check() error {
	if o.file == "" {
		return errors.New("--file is required")
	}
	return o.pipelineOptions.check()
}

// server is a standalone archiver: engine, files and HTTP.
type server struct {
	*engine.Engine
	opts  *standaloneOptions
	files standalone.Driver
	resources
	gate    gate
	reader  *query.Reader // which reads all PVs
	older   *older
	handler http.Handler
	// captured is closed when the engine has got its first channels.
	captured chan struct{}
}

// openStandalone checks the options and acquires all resources.
func openStandalone(ctx context.Context, o *standaloneOptions) (_ *server, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	// At the start, a wrong path or only invalid manifests are an error. Later, capture
	// continues with the last valid groups.
	if r := manifest.Load(o.file); len(r.Groups) == 0 && r.Err() != nil {
		return nil, fmt.Errorf("no valid ArchiveGroup:\n%w", r.Err())
	}
	o.alone = true
	s := &server{opts: o, captured: make(chan struct{})}
	defer func() {
		if err != nil {
			s.release(o.log)
			s.gate.close(o.log)
		}
	}()
	reg := newRegistry()
	s.metrics = reg
	if err = s.bind(o.listen, reg); err != nil {
		return nil, err
	}
	if err = o.access.checkExposed(s.listener.Addr()); err != nil {
		return nil, err
	}
	if s.gate, err = o.access.open(reg, o.log, nil); err != nil {
		return nil, err
	}
	if s.listener, err = s.gate.secure(s.listener, o.log); err != nil {
		return nil, err
	}
	o.useClock(o.log)
	if s.store, err = o.storage.open(ctx, reg, o.log); err != nil {
		return nil, err
	}
	if s.Engine, err = s.newPipeline(&o.pipelineOptions, 0, reg, o.log); err != nil {
		return nil, err
	}
	policies, err := o.openPolicies(reg)
	if err != nil {
		return nil, err
	}
	s.files = standalone.Driver{Path: o.file, Archive: s.archive(), Apply: s.apply(), Policies: policies, Erase: s.Erase, Anonymous: o.access.file == "", Registerer: reg, Log: o.log}
	if s.gate.log != nil {
		s.files.Audit = s.gate.log.Add
	}
	return s, s.serve(reg)
}

// openPolicies reads the file of policies. It returns nil if there is none.
func (o *standaloneOptions) openPolicies(reg *prometheus.Registry) (*standalone.Policies, error) {
	if o.policies == "" {
		return nil, nil
	}
	if o.access.file == "" {
		o.log.Warn("without --access, every reader is the user anonymous; to let readers see the PVs of a policy, name this user in it, or set readers.everybody")
	}
	p, err := standalone.OpenPolicies(o.policies, reg, o.log)
	if err != nil {
		return nil, fmt.Errorf("--policies: %w", err)
	}
	return p, nil
}

// apply returns what gives the engine its channels.
func (s *server) apply() func(engine.Assignment) {
	var once sync.Once
	return func(a engine.Assignment) {
		s.Apply(a)
		once.Do(func() { close(s.captured) })
	}
}

// checkReaders warns of rules of readers that name no PV, once the PVs are known.
func (s *server) checkReaders(ctx context.Context) {
	select {
	case <-s.captured:
		s.gate.warnUnused(ctx, s.reader, s.opts.log)
	case <-ctx.Done():
	}
}

// warnings returns the problems that need attention: those of the manifests, and those of searches.
func (s *server) warnings() []string {
	all := append(s.files.Warnings(), s.Capture().Problems()...)
	if problem := s.files.Policies.Problem(); problem != "" {
		all = append(all, problem)
	}
	return all
}

// serve creates the HTTP handler.
func (s *server) serve(reg *prometheus.Registry) (err error) {
	s.reader = newReader(s.store, s.Engine, s.Shards(), s.Capture(), s.opts.clock, s.opts.log)
	if s.older, err = s.opts.through.open(s.reader, reg, nil); err != nil {
		return err
	}
	cfg := &serve.Config{
		Reader: s.reader, Channels: s.Engine, Names: s.Names(), Reads: readsBesideCapturing,
		Gatherer: reg, Registerer: reg, Metrics: serve.NewMetrics(reg),
		Ready: func() error { return nil }, Warnings: s.warnings, Overview: s.overview(), Archive: hostname(), Version: version(), Now: time.Now, Log: s.opts.log,
	}
	if p := s.files.Policies; p != nil {
		cfg.Policies, cfg.Notices = p.Current, p.Notices
	}
	if !s.files.Anonymous {
		cfg.Edit = s.files.Edit
	}
	s.gate.configure(cfg)
	s.handler, err = s.older.handler(cfg)
	return err
}

// archive returns the settings that all groups share.
func (s *server) archive() compile.Archive {
	return compile.Archive{Shards: s.Shards(), Provider: capture.Provider(s.opts.provider), Alone: true}
}

// hostname returns the name of the machine, which is the name of the archive in files that clients save. It is "" if the name
// is not known.
func hostname() string {
	name, _ := os.Hostname() // without it, files have no name of the archive
	return name
}

func (s *server) url() string {
	return s.gate.scheme() + strings.TrimPrefix(urlOf(s.listener.Addr()), "http")
}

// urlOf returns the URL at which a client on this host reaches a listener.
func urlOf(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return "http://" + addr.String()
}

// run archives and serves until parent ends, then stops all parts in order.
func (s *server) run(parent context.Context) error {
	defer s.release(s.opts.log)
	defer s.gate.close(s.opts.log)
	defer s.gate.run()()
	defer s.older.close()
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	stopHTTP := serveHTTP(s.listener, s.handler, s.opts.log, cancel)
	var wg sync.WaitGroup
	wg.Go(func() { s.files.Run(ctx) })
	wg.Go(func() { s.checkReaders(ctx) })
	wg.Go(func() { s.reader.Index.Run(ctx) })
	if s.opts.pprof != "" {
		wg.Go(func() { s.profiles(ctx) })
	}
	unsaved := s.Run(ctx)
	stopHTTP(0, 2*time.Second)
	wg.Wait()
	if parent.Err() != nil {
		return unsavedError(unsaved)
	}
	return errors.Join(context.Cause(ctx), unsavedError(unsaved))
}

// profiles serves Go's profiles until ctx ends.
func (s *server) profiles(ctx context.Context) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	srv := &http.Server{Addr: s.opts.pprof, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		s.opts.log.Error("serving profiles at --pprof failed", "err", err)
	}
}
