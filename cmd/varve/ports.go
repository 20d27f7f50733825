package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/pflag"

	"varve.dev/varve/engine/serve"
)

// sidePort is an HTTP server besides that of --listen. It serves the process, not its readers.
type sidePort struct {
	listener net.Listener
	handler  http.Handler
}

// bindSide opens the listener of a flag with an address, and serves handler there.
func (r *resources) bindSide(flag, addr string, handler http.Handler) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	r.sides = append(r.sides, sidePort{r.limit(l), handler})
	return nil
}

// serveSides serves all side ports until stop is called. It calls failed if one of them ends before.
func (r *resources) serveSides(log *slog.Logger, failed func(error)) (stop func()) {
	var stops []func(linger, patience time.Duration)
	for _, p := range r.sides {
		stops = append(stops, serveHTTP(p.listener, p.handler, log, failed))
	}
	return func() {
		for _, s := range stops {
			s(0, 2*time.Second)
		}
	}
}

// addMetricsListen adds the flag --metrics-listen.
func addMetricsListen(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "metrics-listen", "", "address of a separate port for /metrics, /healthz and /readyz (default: --listen serves them)")
}

// bindMetrics opens the port of --metrics-listen and removes /metrics from the other ports, unless the
// address is empty.
func (r *resources) bindMetrics(addr string, cfg *serve.Config) error {
	if addr == "" {
		return nil
	}
	cfg.MetricsElsewhere = true
	return r.bindSide("--metrics-listen", addr, serve.NewMetricsPort(cfg))
}
