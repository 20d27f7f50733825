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

// serverInterval is the time between attempts to reach the API server, and the time limit of
// each attempt.
const serverInterval = 2 * time.Second

// awaitServer waits until the API server answers. If the operator exited instead, Kubernetes
// would restart it with a growing back-off, and the operator would be missing when the API
// server is back: after an outage of a minute it would be down for another minute. Meanwhile
// the probes report that the operator is alive but not ready; probes "0" means no probes.
func awaitServer(ctx context.Context, cfg *rest.Config, probes string, log *slog.Logger) error {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = serverInterval
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return fmt.Errorf("creating a client of the API server: %w", err)
	}
	if ping(client) == nil {
		return nil
	}
	if probes != "0" {
		l, err := net.Listen("tcp", probes)
		if err != nil {
			return fmt.Errorf("--health-probe-bind-address: %w", err)
		}
		defer serveHTTP(l, waitingProbes(), log, func(err error) { log.Error("serving probes failed", "err", err) })(0, time.Second)
	}
	for {
		err := ping(client)
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

// ping returns nil if the API server answers, even if it refuses the request.
func ping(client *discovery.DiscoveryClient) error {
	_, err := client.ServerVersion()
	if reason := apierrors.ReasonForError(err); reason == metav1.StatusReasonUnauthorized || reason == metav1.StatusReasonForbidden {
		return nil
	}
	return err
}

// waitingProbes answers probes: alive, but not ready.
func waitingProbes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "waiting for the API server", http.StatusServiceUnavailable)
	})
	return mux
}
