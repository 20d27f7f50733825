package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/serve/stream"
)

// pipes is a listener in memory. dial opens a connection to it.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// TestAStoppingPodStillAnswersForAWhile checks that a stopping pod answers new requests for 5 s
// more, because a Service sends requests to it until all nodes have updated their endpoints.
func TestAStoppingPodStillAnswersForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				time.Sleep(10 * time.Second)
			}
		})
		stop := serveHTTP(l, slow, slog.New(slog.DiscardHandler), func(err error) { t.Error(err) })
		client := &http.Client{Transport: &http.Transport{DialContext: l.dial}}
		get := func(path string) (closes bool, err error) {
			r, err := client.Get("http://pod" + path)
			if err != nil {
				return false, err
			}
			return r.Close, r.Body.Close()
		}

		if closes, err := get("/"); err != nil || closes {
			t.Fatalf("before the stop: connection closes %v, error %v", closes, err)
		}
		var stopped sync.WaitGroup
		defer stopped.Wait()
		stopped.Go(func() { stop(5*time.Second, 30*time.Second) })
		time.Sleep(4 * time.Second)
		if closes, err := get("/"); err != nil || !closes {
			t.Errorf("4 s after the stop: connection closes %v, error %v; the next request must go to another pod", closes, err)
		}
		if _, err := get("/slow"); err != nil {
			t.Errorf("a request that was in flight when the listener closed fails: %v", err)
		}
		if _, err := get("/"); err == nil {
			t.Error("14 s after the stop, the pod still answers")
		}
	})
}

// TestAStoppingProcessEndsLiveUpdates checks that a process does not wait for a request that ends only
// when the server stops.
func TestAStoppingProcessEndsLiveUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		started := make(chan struct{})
		live := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(started)
			select {
			case <-stream.Stopping(r.Context()):
				_, _ = io.WriteString(w, "ended")
			case <-r.Context().Done():
			}
		})
		stop := serveHTTP(l, live, slog.New(slog.DiscardHandler), func(err error) { t.Error(err) })
		client := &http.Client{Transport: &http.Transport{DialContext: l.dial}}
		var request sync.WaitGroup
		defer request.Wait()
		request.Go(func() {
			r, err := client.Get("http://pod/live")
			if err != nil {
				t.Errorf("the connection is aborted: %v", err)
				return
			}
			defer r.Body.Close()
			if text, err := io.ReadAll(r.Body); string(text) != "ended" || err != nil {
				t.Errorf("the answer is %q: %v", text, err)
			}
		})
		<-started
		began := time.Now()
		stop(0, time.Minute)
		if waited := time.Since(began); waited > time.Second { // Shutdown looks for idle connections twice a second at least
			t.Errorf("the process waits %v for live updates", waited)
		}
	})
}
