package serve

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/appliance"
	"varve.dev/varve/engine/serve/native"
)

// Config configures a server.
type Config struct {
	// Reader and Channels provide the data for the read APIs. If Reader is nil, the server has
	// no read APIs, only /metrics, /healthz, /readyz and the paths that Extra adds.
	Reader   *query.Reader
	Channels native.Channels
	// Extra adds other paths. It may be nil.
	Extra func(*http.ServeMux)
	// Gatherer gathers the metrics for /metrics.
	Gatherer prometheus.Gatherer
	Metrics  *Metrics
	// Ready returns the reason why the process is not ready yet, or nil if it is ready.
	Ready   func() error
	Version string
	Now     func() time.Time
	Log     *slog.Logger
}

// New returns the handler of all paths. The handler need not be closed.
func New(cfg *Config) (http.Handler, error) {
	mux := http.NewServeMux()
	if cfg.Reader != nil {
		cfg.registerRead(mux)
	}
	if cfg.Extra != nil {
		cfg.Extra(mux)
	}
	mux.Handle("GET /metrics", promhttp.HandlerFor(cfg.Gatherer, promhttp.HandlerOpts{DisableCompression: true}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", cfg.ready)

	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(1024), gzhttp.CompressionLevel(1),
		gzhttp.ExceptContentTypes([]string{"application/x-protobuf"}))
	if err != nil {
		return nil, fmt.Errorf("setting up compression: %w", err)
	}
	return cfg.Metrics.count(limitWrites(allowBrowsers(compress(mux)))), nil
}

// registerRead adds the APIs that read the archive.
func (c *Config) registerRead(mux *http.ServeMux) {
	(&appliance.Handler{
		Reader: c.Reader, Channels: c.Channels, Version: "Varve " + c.Version, Name: "varve", Now: c.Now, Log: c.Log,
	}).Register(mux)
	(&native.Handler{Reader: c.Reader, Channels: c.Channels, Now: c.Now, Log: c.Log}).Register(mux)
	mux.HandleFunc("GET /{$}", c.index)
}

func (c *Config) ready(w http.ResponseWriter, _ *http.Request) {
	if err := c.Ready(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// allowBrowsers lets web pages of any origin read the archive, because Grafana's plug-in reads
// from the browser.
func allowBrowsers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		switch r.Method {
		case http.MethodOptions:
			h.Set("Access-Control-Allow-Origin", "*")
			h.Set("Access-Control-Allow-Methods", "GET")
			h.Set("Access-Control-Allow-Headers", "*")
			w.WriteHeader(http.StatusNoContent)
			return
		case http.MethodGet, http.MethodHead:
			h.Set("Access-Control-Allow-Origin", "*")
		}
		next.ServeHTTP(w, r)
	})
}
