package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"varve.dev/varve/engine/serve/stream"
)

// How many reads of samples a process serves at a time. A read takes up to some ten MiB. In a
// process that captures, the memory belongs to samples on their way to the store.
const (
	readsAtOnce          = 32
	readsBesideCapturing = 8
)

// maxHeader bounds the header of a request, and with it the URL: the names of 1,000 PVs take about
// 60 KiB.
const maxHeader = 256 << 10

// serveHTTP serves HTTP until stop is called. stop keeps answering new requests for linger,
// without keep-alive. Then it ends live updates (see stream.Stopping), and waits at most patience for
// other requests in flight. serveHTTP calls failed if serving ends before stop.
func serveHTTP(l net.Listener, h http.Handler, log *slog.Logger, failed func(error)) (stop func(linger, patience time.Duration)) {
	stopping := make(chan struct{}) // closed by Shutdown
	srv := &http.Server{
		BaseContext: func(net.Listener) context.Context { return stream.WithStopping(context.Background(), stopping) },
		Handler:     h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	srv.RegisterOnShutdown(func() { close(stopping) })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed(fmt.Errorf("serving HTTP: %w", err))
		}
	}()
	return func(linger, patience time.Duration) {
		srv.SetKeepAlivesEnabled(false)
		select {
		case <-time.After(linger):
		case <-ended:
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if srv.Shutdown(ctx) != nil {
			_ = srv.Close() // aborts requests that take longer
		}
		<-ended
	}
}

// newRegistry returns a registry with the metrics of the Go runtime and the process.
func newRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}
