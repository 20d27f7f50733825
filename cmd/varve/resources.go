package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/cluster/mirror"
	"varve.dev/varve/engine/ca"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pva"
	"varve.dev/varve/engine/serve"
	"varve.dev/varve/engine/spool"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/wire"
)

// resources are what a program acquires before it runs and releases at its end. Resources that
// it does not use, or could not acquire, are nil.
type resources struct {
	metrics  *prometheus.Registry // of the process
	listener net.Listener
	limit    func(net.Listener) net.Listener // bounds the connections of a port
	sides    []sidePort
	store    store.Store
	sources  capture.Sources
	spool    *spool.Spool
	heap     *heapLimit
}

// bind opens the listener of --listen.
func (r *resources) bind(addr string, reg prometheus.Registerer) error {
	l, err := net.Listen("tcp", addr)
	if wrong := (*net.AddrError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("--listen: %w; write it like 127.0.0.1:17665", err)
	} else if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	r.limit = serve.LimitConnections(reg)
	r.listener = r.limit(l)
	return nil
}

// openPod acquires the resources of every pod in a cluster: a client of the API server, the
// HTTP listener and the store. It does not need the API server or Cassandra to be reachable.
func (r *resources) openPod(o *clusterOptions, listen string, st *storageOptions, reg prometheus.Registerer, log *slog.Logger,
) (api *mirror.Client, err error) {
	if api, err = o.connect(); err != nil {
		return nil, err
	}
	if err = r.bind(listen, reg); err != nil {
		return nil, err
	}
	r.store, err = st.openLate(reg, log)
	return api, err
}

// openSources starts the clients of both protocols, which share the memory for receiving.
func (r *resources) openSources(c ca.Config, p pva.Config, receive *wire.Budget, reg prometheus.Registerer, log *slog.Logger) error {
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "varve_engine_receive_bytes", Help: "Memory in which circuits receive frames, beyond 16 KiB for each.",
	}, func() float64 { return float64(receive.Used()) }))
	c.ReceiveMemory, p.ReceiveMemory = receive, receive
	c.Registerer, c.Log = reg, log
	channelAccess, err := ca.New(c)
	if err != nil {
		return fmt.Errorf("starting Channel Access: %w", err)
	}
	r.sources[capture.CA] = channelAccess
	p.Registerer, p.Log = reg, log
	pvAccess, err := pva.New(p)
	if err != nil {
		return fmt.Errorf("starting pvAccess: %w", err)
	}
	r.sources[capture.PVA] = pvAccess
	return nil
}

// release closes the acquired resources.
func (r *resources) release(log *slog.Logger) {
	if r.listener != nil {
		_ = r.listener.Close() // already closed if the server ran
	}
	for _, p := range r.sides {
		_ = p.listener.Close()
	}
	for provider, source := range r.sources {
		if source == nil {
			continue
		}
		if err := source.Close(); err != nil {
			log.Error("closing a client", "provider", capture.Provider(provider).String(), "err", err)
		}
	}
	if r.spool != nil {
		if err := r.spool.Close(); err != nil {
			log.Error("closing the spool", "err", err)
		}
	}
	if r.store != nil {
		if err := r.store.Close(); err != nil {
			log.Error("closing the store", "err", err)
		}
	}
	if r.heap != nil {
		r.heap.end()
	}
}
