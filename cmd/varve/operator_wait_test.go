package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"varve.dev/varve/test/freeport"
)

// TestTheOperatorWaitsForTheAPIServer checks that an operator that starts while the API server
// is down reports that it is alive but not ready, and continues when the API server answers.
func TestTheOperatorWaitsForTheAPIServer(t *testing.T) {
	ports, err := freeport.Several("127.0.0.1", 2)
	if err != nil {
		t.Fatal(err)
	}
	server := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: ports[0]}).String()
	probes := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: ports[1]}).String()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- awaitServer(ctx, &rest.Config{Host: "http://" + server}, probes, slog.New(slog.DiscardHandler))
	}()

	await(ctx, t, "http://"+probes+"/healthz", http.StatusOK)
	await(ctx, t, "http://"+probes+"/readyz", http.StatusServiceUnavailable)
	l, err := net.Listen("tcp", server)
	if err != nil {
		t.Fatal(err)
	}
	api := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"major":"1","minor":"36"}`)
	})}}
	api.Start()
	defer api.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	again, err := net.Listen("tcp", probes)
	if err != nil {
		t.Fatalf("the manager cannot use the address of the probes: %v", err)
	}
	_ = again.Close()
}

// TestARefusalCountsAsAnAnswerOfTheAPIServer checks that an API server that refuses to send
// its version counts as running.
func TestARefusalCountsAsAnAnswerOfTheAPIServer(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`, http.StatusForbidden)
	}))
	defer api.Close()
	if err := awaitServer(t.Context(), &rest.Config{Host: api.URL}, "0", slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
}

// await polls a URL until it answers with a status code.
func await(ctx context.Context, t *testing.T, url string, code int) {
	t.Helper()
	for {
		resp, err := http.Get(url)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == code {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s does not answer %d: %v", url, code, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
