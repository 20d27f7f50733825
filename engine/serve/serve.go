package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"varve.dev/varve/engine/names"
	"varve.dev/varve/engine/policy"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/access"
	"varve.dev/varve/engine/serve/admission"
	"varve.dev/varve/engine/serve/appliance"
	"varve.dev/varve/engine/serve/audit"
	"varve.dev/varve/engine/serve/edit"
	"varve.dev/varve/engine/serve/explore"
	"varve.dev/varve/engine/serve/field"
	"varve.dev/varve/engine/serve/files"
	"varve.dev/varve/engine/serve/jsonaccess"
	"varve.dev/varve/engine/serve/native"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/engine/serve/promapi"
	"varve.dev/varve/engine/serve/table"
	"varve.dev/varve/engine/serve/ui"
	"varve.dev/varve/engine/serve/visible"
)

// Config configures a server.
type Config struct {
	// Reader and Channels provide the data for the read APIs. If Reader is nil, the server has
	// no read APIs, only /metrics, /healthz, /readyz and the paths that Extra adds.
	Reader   *query.Reader
	Channels native.Channels
	// Names has the former names and aliases of PVs. It may be nil.
	Names *names.Book
	// Reads is the number of reads of samples that are served at a time. 0 means no limit.
	Reads int
	// Registerer registers the metrics of these reads.
	Registerer prometheus.Registerer
	// Access decides who may read which PVs. If it is nil, everybody may read everything, also web
	// pages of any origin and by any name of the host. Without a Reader, no other origin may read.
	Access *access.Access
	// Policies returns the current policies, which hide PVs in addition to Access. known is false while they are not
	// known: nobody may read anything then. It is nil if there are no policies.
	Policies func() (policies *policy.Set, known bool)
	// Audit notes who has read what. It needs Access, and may be nil.
	Audit *audit.Log
	// Edit changes ArchiveGroups that accept requests of scripts. It needs an Access that somebody chose: a request without
	// an identity changes nothing. It may be nil.
	Edit edit.Editor
	// Extra adds other paths. It may be nil. Calls describes those under /api/v1.
	Extra func(*http.ServeMux)
	Calls openapi.Section
	// Gatherer gathers the metrics for /metrics. If MetricsElsewhere is set, the handler of New lacks
	// /metrics, because another port has the handler of NewMetricsPort.
	Gatherer         prometheus.Gatherer
	MetricsElsewhere bool
	Metrics          *Metrics
	// Overview is what the process knows of its archive besides channels and the store.
	Overview overview.Sources
	// Ready returns the reason why the process is not ready yet, or nil if it is ready.
	Ready func() error
	// Warnings returns problems that do not stop the process but need attention. It may be nil.
	Warnings func() []string
	// Notices returns problems like Warnings that name no PV, so everybody may see them. It may be nil.
	Notices func() []string
	// Archive is the name of the archive in headers of answers and in files that clients save. It may be empty.
	Archive string
	Version string
	Now     func() time.Time
	Log     *slog.Logger

	// all are the channels before hiding replaced them, or nil if it did not.
	all native.Channels
}

// New returns the handler of all paths. The handler need not be closed.
func New(cfg *Config) (http.Handler, error) {
	cfg = cfg.hiding().withNames().withFields()
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(1024), gzhttp.CompressionLevel(1),
		gzhttp.ExceptContentTypes([]string{"application/x-protobuf"}))
	if err != nil {
		return nil, fmt.Errorf("setting up compression: %w", err)
	}
	var handler http.Handler = compress(cfg.mux())
	if cfg.Access != nil || cfg.Policies != nil {
		handler = cfg.identify(handler)
	}
	if cfg.Reader != nil {
		handler = cfg.allowOrigins(handler)
	}
	return cfg.Metrics.count(limitWrites(protectBrowsers(limitRequests(refuseForeignPosts(handler), cfg.client)))), nil
}

// mux returns all paths.
func (c *Config) mux() *http.ServeMux {
	mux := http.NewServeMux()
	if c.Reader != nil {
		c.registerRead(mux)
	}
	if c.Extra != nil {
		c.Extra(mux)
	}
	if !c.MetricsElsewhere {
		c.registerMetrics(mux)
	}
	c.registerProbes(mux)
	return mux
}

func (c *Config) registerMetrics(mux *http.ServeMux) {
	mux.Handle("GET /metrics", promhttp.HandlerFor(c.Gatherer, promhttp.HandlerOpts{DisableCompression: true}))
}

func (c *Config) registerProbes(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", c.ready)
}

// NewMetricsPort returns the handler of a port for /metrics, /healthz and /readyz only. It asks nobody
// for an identity.
func NewMetricsPort(c *Config) http.Handler {
	mux := http.NewServeMux()
	c.registerMetrics(mux)
	c.registerProbes(mux)
	return c.Metrics.count(limitWrites(protectBrowsers(refuseForeignPosts(limitRequests(mux, c.client)))))
}

// hiding returns a configuration whose reader and channels hide what the sender of a request may not
// read. If everybody may read everything and nobody notes it, they stay as they are, and cost nothing.
func (c *Config) hiding() *Config {
	restricts := c.Policies != nil || c.Access != nil && (c.Access.Restricts() || c.Audit != nil)
	if c.Reader == nil || !restricts {
		return c
	}
	h := *c
	h.all = c.Channels
	h.Reader, h.Channels = visible.Reader(c.Reader), visible.Hiding(c.Channels)
	return &h
}

// allChannels returns the channels, also those that are hidden from some.
func (c *Config) allChannels() native.Channels {
	if c.all != nil {
		return c.all
	}
	return c.Channels
}

// withFields returns a configuration whose reader reads fields of PVs, too.
func (c *Config) withFields() *Config {
	if c.Reader == nil {
		return c
	}
	with := *c
	with.Reader = field.Reader(c.Reader)
	return &with
}

// registerRead adds the APIs that read the archive.
func (c *Config) registerRead(mux *http.ServeMux) {
	var gate *admission.Gate
	if c.Reads > 0 {
		gate = admission.New(c.Reads, c.Registerer)
	}
	state := overview.New(overview.Config{
		Reader: c.Reader, Channels: c.Channels, Sources: c.Overview, Warnings: c.warnings, SeesAll: c.seesAll, Reads: gate, Now: c.Now, Log: c.Log,
	})
	state.Register(mux)
	(&appliance.Handler{
		Reader: c.Reader, Channels: c.Channels, Reads: gate, Edit: c.editor(), Version: "Varve " + c.Version, Name: "varve", Now: c.Now, Log: c.Log,
	}).Register(mux)
	(&native.Handler{
		Reader: c.Reader, Channels: c.Channels, Descriptions: native.NewDescriptions(c.allChannels(), c.Now), Reads: gate, Warnings: c.warnings, Origin: c.origin(), Surroundings: c.surroundings(state), Now: c.Now, Log: c.Log,
	}).Register(mux)
	(&files.Handler{Reader: c.Reader, Reads: gate, Memory: c.fileMemory(), Origin: c.origin(), Now: c.Now, Log: c.Log}).Register(mux)
	(&jsonaccess.Handler{
		Reader: c.Reader, Reads: gate, Name: "Varve", Description: "Varve " + c.Version, Now: c.Now, Log: c.Log,
	}).Register(mux)
	(&promapi.Handler{Reader: c.Reader, Reads: gate, Version: c.Version, Now: c.Now, Log: c.Log}).Register(mux)
	explore.New(c.Reader, c.Channels, gate, c.Now, c.Log).Register(mux)
	c.registerDocument(mux)
	c.registerLogin(mux)
	ui.Register(mux, c.Access.Login().Origin())
	mux.HandleFunc("GET /api/{$}", c.index)
}

// editor returns what changes ArchiveGroups. It is nil if nobody may.
func (c *Config) editor() edit.Editor {
	if c.Access == nil {
		return nil
	}
	return c.Edit
}

// origin says which archive answers, and in which version.
func (c *Config) origin() (notes []table.Note) {
	if c.Archive != "" {
		notes = append(notes, table.Note{Key: "archive", Value: c.Archive})
	}
	if c.Version != "" {
		notes = append(notes, table.Note{Key: "version", Value: "Varve " + c.Version})
	}
	return notes
}

// Bounds of the memory for Parquet files, in bytes. A process that captures admits fewer reads, and
// has less memory for files.
const (
	maxFileMemory     = 128 << 20
	fileMemoryPerRead = 8 << 20
)

func (c *Config) fileMemory() int64 {
	if c.Reads == 0 {
		return maxFileMemory
	}
	return min(maxFileMemory, fileMemoryPerRead*int64(c.Reads))
}

func (c *Config) ready(w http.ResponseWriter, r *http.Request) {
	if err := c.Ready(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
	for _, text := range c.warnings(r.Context()) {
		fmt.Fprintln(w, "warning:", text)
	}
}

// warnings returns the current notices and warnings. Warnings may name PVs, so only those who may read every PV see
// them.
func (c *Config) warnings(ctx context.Context) (all []string) {
	if c.Notices != nil {
		all = c.Notices()
	}
	if !c.seesAll(ctx) {
		return all
	}
	if c.Warnings != nil {
		all = append(all, c.Warnings()...)
	}
	if c.Access != nil {
		all = append(all, c.Access.Problems()...)
	}
	return all
}

// seesAll reports whether the sender of a request may read every PV.
func (c *Config) seesAll(ctx context.Context) bool {
	return c.Access == nil && c.Policies == nil || access.From(ctx).SeesAll()
}
