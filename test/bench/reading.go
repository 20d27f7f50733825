package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/test/archive"
)

const (
	// readLong is the PV of which most is read, and readLongSamples how many samples it has: 20 days
	// at 1 Hz.
	readLong        = "READ:LONG"
	readLongSamples = 1_740_000
	readEpoch       = 1_760_000_000e9
	// readPVs is how many PVs a snapshot has. Each of them has as many samples as a reader reads.
	readPVs     = 1000
	readSamples = 10_000
	readAtOnce  = 8 // as a process that captures
)

// reading stores PVs in Pebble, and measures how long a client waits for answers over HTTP. Server and
// client are one process. The goals are those of an archive on two cores.
func (b *bench) reading(ctx context.Context) (err error) {
	st, err := pebble.Open(filepath.Join(b.dir, "reading"), pebble.Options{})
	if err != nil {
		return err
	}
	l := newLoader(ctx, st, 1, ampleMemory)
	defer func() { err = firstOf(err, l.close()) }()
	l.retention.Levels[0] = store.LevelOf(time.Minute, store.Forever)
	if err := b.readingFill(ctx, l); err != nil {
		return err
	}
	base, stop, err := serveArchive(l)
	if err != nil {
		return err
	}
	defer stop()
	if err := b.readLong(ctx, base); err != nil {
		return err
	}
	if err := b.readAtTime(ctx, base); err != nil {
		return err
	}
	return b.readTogether(ctx, l, base)
}

// readingFill stores the PVs.
func (b *bench) readingFill(ctx context.Context, l *loader) error {
	b.logf("reading: %d samples of a PV, and %d of %d PVs", readLongSamples, readSamples, readPVs)
	rng := rand.New(rand.NewPCG(5, 1))
	l.open([]string{readLong})
	for i := range int64(readLongSamples) {
		s := reading(rng, i)
		s.Time = readEpoch + i*1e9
		l.append(readLong, s)
	}
	if err := l.seal(ctx); err != nil {
		return err
	}
	pvs := archive.Names("READ:", readPVs)
	l.open(pvs)
	for _, pv := range pvs {
		for i := range int64(readSamples) {
			s := reading(rng, i)
			s.Time = readEpoch + i*1e8
			l.append(pv, s)
		}
	}
	return l.seal(ctx)
}

// noChannels are the channels of an archive that captures nothing.
type noChannels struct{}

func (noChannels) Statuses(context.Context) iter.Seq2[capture.Status, error] {
	return func(func(capture.Status, error) bool) {}
}

func (noChannels) Status(context.Context, string) (s capture.Status, captured bool, err error) {
	return s, false, nil
}

// serveArchive serves what a loader has stored, until stop is called.
func serveArchive(l *loader) (base string, stop func(), err error) {
	reg := prometheus.NewRegistry()
	h, err := serve.New(&serve.Config{
		Reader: &query.Reader{Store: l.store, Shards: len(l.shardJournals)}, Channels: noChannels{}, Reads: readAtOnce, Registerer: reg, Gatherer: reg,
		Metrics: serve.NewMetrics(reg), Ready: func() error { return nil }, Version: "bench", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(listener) // ends when stop closes the server
	}()
	return "http://" + listener.Addr().String(), func() {
		_ = srv.Close()
		<-ended
	}, nil
}

// span returns the parameters from and to.
func span(from, to int64) string {
	clock := func(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
	return "&from=" + clock(from) + "&to=" + clock(to)
}

// wanted is a text that an answer has at least n times. A raw answer has a line for each sample, and one before
// them.
type wanted struct {
	n    int
	text string
}

// fetch sends a request, reads its answer and checks it. again is the header Retry-After.
func fetch(ctx context.Context, path string, body []byte, want wanted) (code int, again string, err error) {
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	again = res.Header.Get("Retry-After")
	if res.StatusCode != http.StatusOK {
		return res.StatusCode, again, fmt.Errorf("%.100s answers %s", path, res.Status)
	}
	n, err := occurrences(res.Body, want.text)
	if err == nil && n < want.n {
		err = fmt.Errorf("%.100s has %d of %q, want %d", path, n, want.text, want.n)
	}
	return res.StatusCode, again, err
}

// occurrences counts a text in what r returns, without holding all of it.
func occurrences(r io.Reader, text string) (n int, err error) {
	buf, kept := make([]byte, 256<<10), 0
	for {
		m, err := r.Read(buf[kept:])
		all := buf[:kept+m]
		n += bytes.Count(all, []byte(text))
		kept = copy(buf, all[max(0, len(all)-len(text)+1):]) // the next read may complete it
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		}
	}
}

// timed reports the median time of a request in seconds, its slowest one, and the CPU time of a request
// with its client.
func (b *bench) timed(ctx context.Context, name, path string, body []byte, goal float64, want wanted) (median float64, err error) {
	times, used := make([]float64, 9), cpuSeconds()
	for i := range times {
		begun := time.Now()
		if _, _, err := fetch(ctx, path, body, want); err != nil {
			return 0, err
		}
		times[i] = time.Since(begun).Seconds()
	}
	cpu := (cpuSeconds() - used) / float64(len(times))
	slices.Sort(times)
	median = times[len(times)/2]
	if goal > 0 {
		b.report.atMost("reading."+name, "s", median, goal)
	} else {
		b.report.cost("reading."+name, "s", median, 0, "")
	}
	b.report.cost("reading."+name+"_slowest", "s", times[len(times)-1], 0, "")
	b.report.cost("reading."+name+"_cpu", "s", cpu, 0, "")
	return median, nil
}

// readLong reads a PV with many samples in several formats.
func (b *bench) readLong(ctx context.Context, base string) error {
	all := span(readEpoch, readEpoch+(readLongSamples-1)*1e9)
	for _, c := range []struct {
		name, path string
		goal       float64
		want       wanted
	}{
		{"raw", "/retrieval/data/getData.raw?pv=" + readLong + all, 0.2, wanted{readLongSamples + 1, "\n"}},
		{"json", "/retrieval/data/getData.json?pv=" + readLong + all, 0.4, wanted{readLongSamples, `"val"`}},
		{"bins_1000", "/api/v1/samples?points=1000&pv=" + readLong + all, 0.02, wanted{500, `"mean"`}},
	} {
		if _, err := b.timed(ctx, c.name, base+c.path, nil, c.goal, c.want); err != nil {
			return err
		}
	}
	used := cpuSeconds()
	median, err := b.timed(ctx, "parquet", base+"/api/v1/samples?format=parquet&pv="+readLong+all, nil, 0, wanted{1, "PAR1"})
	if err != nil {
		return err
	}
	b.report.rate("reading.parquet_rate", readLongSamples/median, 0, "")
	b.report.atLeast("reading.parquet_rate_per_core", 9*readLongSamples/(cpuSeconds()-used), 5e6)
	return nil
}

// readAtTime reads the value of many PVs at a time.
func (b *bench) readAtTime(ctx context.Context, base string) error {
	body, err := json.Marshal(archive.Names("READ:", readPVs))
	if err != nil {
		return err
	}
	at := time.Unix(0, readEpoch+readSamples/2*1e8).UTC().Format(time.RFC3339)
	_, err = b.timed(ctx, "at_time_1000", base+"/retrieval/data/getDataAtTime?at="+at, body, 0.1, wanted{readPVs, `"val"`})
	return err
}
