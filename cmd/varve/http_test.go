package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener within the process.
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

// A Service sends requests to a pod that ends until all nodes have heard of it.
func TestAPodThatEndsStillAnswers(t *testing.T) {
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
			t.Fatalf("before it ends: connection closes %v, error %v", closes, err)
		}
		var stopped sync.WaitGroup
		defer stopped.Wait()
		stopped.Go(func() { stop(5*time.Second, 30*time.Second) })
		time.Sleep(4 * time.Second)
		if closes, err := get("/"); err != nil || !closes {
			t.Errorf("4 s after it was asked to end: connection closes %v, error %v; the next request is to go elsewhere", closes, err)
		}
		if _, err := get("/slow"); err != nil {
			t.Errorf("a request that was under way when it stopped listening: %v", err)
		}
		if _, err := get("/"); err == nil {
			t.Error("14 s after it was asked to end, it still answers")
		}
	})
}
