package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve"
	"varve.dev/varve/engine/serve/access"
	"varve.dev/varve/engine/serve/audit"
)

// accessOptions are the flags that decide who may read.
type accessOptions struct {
	file, audit string
}

func (o *accessOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.file, "access", "", "YAML file that says who may read which PVs (default: everybody may read everything)")
	f.StringVar(&o.audit, "audit", "", "file to which a line of JSON is appended for each request, or stderr (default: none)")
}

// checkExposed refuses to serve beyond this machine until somebody has chosen who may read.
func (o *accessOptions) checkExposed(addr net.Addr) error {
	tcp, is := addr.(*net.TCPAddr)
	if o.file != "" || is && tcp.IP.IsLoopback() {
		return nil
	}
	return fmt.Errorf(`--listen: other machines can reach %s, so you must choose who may read: write a file, and name it with --access.
The file of an archive that everybody may read has one line:
  access: [{anonymous: {}}]
docs/security.md explains the other choices`, addr)
}

// gate is what accessOptions open: who may read, and the audit log.
type gate struct {
	config *access.Config
	access *access.Access
	log    *audit.Log
	file   *os.File
}

// open reads the access file. Without one, everybody may read everything.
func (o *accessOptions) open(reg prometheus.Registerer, log *slog.Logger, review access.Reviewer) (g gate, err error) {
	cfg := access.Open()
	if o.file != "" {
		if cfg, err = access.Load(o.file); err != nil {
			return g, fmt.Errorf("--access: %w", err)
		}
	}
	hostname, err := os.Hostname()
	if err != nil {
		log.Warn("the name of this machine is not known; requests by its name are refused unless the field hosts has it", "err", err)
	}
	if g.access, err = access.New(cfg, access.Options{Now: time.Now, Log: log, Review: review, Hostname: hostname}); err != nil {
		return g, fmt.Errorf("--access: %w", err)
	}
	g.config = cfg
	if o.audit == "" {
		return g, nil
	}
	var out io.Writer = os.Stderr
	if o.audit != "stderr" {
		if g.file, err = os.OpenFile(o.audit, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return g, fmt.Errorf("--audit: %w", err)
		}
		out = g.file
	}
	g.log = audit.New(out, reg, log)
	return g, nil
}

// errAuditAlone is returned by the commands of pods.
var errAuditAlone = errors.New("--audit: it needs --access, because the access file says who the readers are; to admit everybody, write access: [{anonymous: {}}] into the file")

// openGate reads the access file of a pod into g. Without one, everybody who reaches the pod may read
// everything.
func (r *resources) openGate(g *gate, o *accessOptions, c *clusterOptions, cfg *serve.Config) error {
	if o.file == "" {
		return nil
	}
	cluster, err := clusterConfig(c.kubeconfig)
	if err != nil {
		return err
	}
	review, err := reviewer(cluster)
	if err != nil {
		return err
	}
	if *g, err = o.open(cfg.Registerer, cfg.Log, review); err != nil {
		return err
	}
	g.configure(cfg)
	r.listener, err = g.secure(r.listener, cfg.Log)
	return err
}

// mostUnused is the number of patterns in a warning.
const mostUnused = 20

// warnUnused logs the patterns of readers that match no PV of an archive.
func (g *gate) warnUnused(ctx context.Context, names *query.Reader, log *slog.Logger) {
	unused, err := g.access.Unused(func(seen func(string)) error {
		_, err := names.Names(ctx, func(pv string) bool { seen(pv); return false }, 0)
		return err
	})
	switch n := len(unused); {
	case ctx.Err() != nil:
	case err != nil:
		log.Warn("the names of PVs cannot be read, so the patterns of readers are not checked", "err", err)
	case n > 0:
		log.Warn("patterns in the field readers of the access file match no PV of this archive; correct or remove them",
			"patterns", unused[:min(n, mostUnused)], "number", n)
	}
}

// configure sets the fields of a server's configuration.
func (g *gate) configure(cfg *serve.Config) { cfg.Access, cfg.Audit = g.access, g.log }

// secure makes a listener use the certificate of the access file, if it has one.
func (g *gate) secure(l net.Listener, log *slog.Logger) (net.Listener, error) {
	secured, err := g.config.Listener(l, log)
	if err != nil {
		return l, fmt.Errorf("--access: %w", err)
	}
	return secured, nil
}

// scheme returns the scheme of URLs of the server.
func (g *gate) scheme() string {
	if g.config.TLS != nil {
		return "https"
	}
	return "http"
}

// run writes the audit log until stop is called, which waits for its last line.
func (g *gate) run() (stop func()) {
	if g.log == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { g.log.Run(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}

// close closes the file of the audit log.
func (g *gate) close(log *slog.Logger) {
	if g.file == nil {
		return
	}
	if err := g.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		log.Error("closing the audit log", "err", err)
	}
}
