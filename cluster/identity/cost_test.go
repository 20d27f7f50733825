//go:build unix

package identity

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"varve.dev/varve/test/authority"
)

// processorTime returns the processor time that this process, which is both client and server, has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRequests compares requests with and without TLS: on a connection that stays open, as retrieval pods use
// it, and on a new one for each request.
func BenchmarkRequests(b *testing.B) {
	ours := authority.New(b)
	engine, retrieval := party(b, ours, engineName, b.TempDir()), party(b, ours, retrievalName, b.TempDir())
	for _, size := range []int{100, 100_000} {
		body := bytes.Repeat([]byte("x"), size)
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
		for name, encrypted := range map[string]bool{"plain": false, "tls": true} {
			wrap, d := func(l net.Listener) net.Listener { return l }, (*Dialer)(nil)
			if encrypted {
				wrap = func(l net.Listener) net.Listener { return engine.Listener(l, false, retrievalName) }
				d = &Dialer{Party: retrieval, Server: engineName}
			}
			for _, kept := range []bool{true, false} {
				b.Run(fmt.Sprintf("bytes=%d/kept=%t/%s", size, kept, name), func(b *testing.B) {
					url := serve(b, wrap, h)
					c := httpClient(b, d)
					c.Transport.(*http.Transport).DisableKeepAlives = !kept
					b.SetBytes(int64(size))
					before := processorTime(b)
					for b.Loop() {
						if got := get(c, url); len(got) != size {
							b.Fatal(got)
						}
					}
					b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
				})
			}
		}
	}
}
