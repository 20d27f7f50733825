package ui

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
)

// gate lets the test hold reads of bins back, and says when a stream sends a reset.
type gate struct {
	http.Handler

	bins  sync.RWMutex
	once  sync.Once
	reset chan struct{}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/api/v1/bins"):
		g.bins.RLock()
		defer g.bins.RUnlock()
	case strings.HasSuffix(r.URL.Path, "/api/v1/live"):
		w = &resetWatcher{w, g}
	}
	g.Handler.ServeHTTP(w, r)
}

type resetWatcher struct {
	http.ResponseWriter

	gate *gate
}

func (w *resetWatcher) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	if err == nil && bytes.Contains(b, []byte("event: reset\n")) {
		w.gate.once.Do(func() { close(w.gate.reset) })
	}
	return n, err
}

// Unwrap lets the server flush events.
func (w *resetWatcher) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// TestLiveOverAReset cuts the stream of a live plot, and stores more samples than a stream sends at once.
// The archive then sends a reset. The plot has each sample once, before and after it.
func TestLiveOverAReset(t *testing.T) {
	a := newArchive(t)
	g := &gate{Handler: a.server.Config.Handler, reset: make(chan struct{})}
	a.server.Config.Handler = g
	start := time.Now().Add(-5 * time.Minute).UnixNano()
	next := 0
	put := func(n int) {
		r := &sample.Run{Type: sample.Float64}
		for range n {
			r.Append(&sample.Sample{Time: start + int64(next)*second/1000, Word: math.Float64bits(float64(next))})
			next++
		}
		a.put("RESET:LIVE", r)
	}
	put(40)
	p := open(t, a.server.URL+"/?pv=RESET:LIVE&from=-30m&to=now")
	p.ready(1)
	put(20)
	p.wait(fmt.Sprintf(`document.querySelector(".value").dataset.rows === "%d"`, next))

	// While no bins are read, the page knows only the samples before the flood: each of its streams gets a reset.
	g.bins.Lock()
	unlock := sync.OnceFunc(g.bins.Unlock)
	defer unlock()
	a.server.CloseClientConnections()
	for range 25 {
		put(1000)
	}
	select {
	case <-g.reset:
	case <-time.After(patience):
		t.Fatal("no stream sent a reset")
	}
	unlock()
	p.holds(next)
	put(20)
	p.holds(next)
	a.server.CloseClientConnections()
	put(20)
	p.holds(next)
	if d := p.drawn(); d.Mode != "bins" {
		t.Errorf("the plot of %d samples shows %s", next, d.Mode)
	}
}

// holds waits until the bins of the first trace have a number of samples, which are those with the values from 0 on.
func (p *page) holds(samples int) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`(() => { const s = document.querySelector(".lane-plot").plot.traces()[0].series;
		if (!s.count) return false;
		const finite = (list) => [...list].filter(Number.isFinite);
		return s.count.reduce((a, b) => a + b, 0) === %d && Math.min(...finite(s.min)) === 0 && Math.max(...finite(s.max)) === %d })()`, samples, samples-1))
}
