package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// serverInterval is the time between two questions to an API server that is away,
// and bounds each.
const serverInterval = 2 * time.Second

// awaitServer returns when the API server answers. An operator that ended instead
// would be started again after longer and longer times, and be missed when the API
// server is back: it takes a minute to come back from an outage of a minute.
// Probes hear meanwhile that the operator lives and is not ready; "0" serves none.
func awaitServer(ctx context.Context, cfg *rest.Config, probes string, log *slog.Logger) error {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = serverInterval
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return fmt.Errorf("making a client of the API server: %w", err)
	}
	if answers(client) == nil {
		return nil
	}
	if probes != "0" {
		l, err := net.Listen("tcp", probes)
		if err != nil {
			return fmt.Errorf("--health-probe-bind-address: %w", err)
		}
		defer serveHTTP(l, waiting(), log, func(err error) { log.Error("probes are not answered", "err", err) })(0, time.Second)
	}
	for {
		err := answers(client)
		if err == nil {
			return nil
		}
		log.Warn("waiting for the API server", "err", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(serverInterval):
		}
	}
}

// answers returns nil if the API server does, be it with a refusal.
func answers(client *discovery.DiscoveryClient) error {
	_, err := client.ServerVersion()
	if reason := apierrors.ReasonForError(err); reason == metav1.StatusReasonUnauthorized || reason == metav1.StatusReasonForbidden {
		return nil
	}
	return err
}

// waiting answers probes.
func waiting() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "waiting for the API server", http.StatusServiceUnavailable)
	})
	return mux
}
