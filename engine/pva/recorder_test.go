package pva

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
)

// recorder is a sink that keeps what it is told.
type recorder struct {
	mu       sync.Mutex
	log      []string // connected, metadata, disconnected, dropped, in order
	info     capture.ChannelInfo
	meta     *sample.Metadata
	samples  []sample.Sample
	up       bool
	connects int
	dropped  [sample.NumReasons]uint64
	cause    error
	early    int // samples while not connected
}

func (r *recorder) Connected(info capture.ChannelInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.info, r.up, r.connects = info, true, r.connects+1
	r.log = append(r.log, "connected "+info.Type.String())
}

func (r *recorder) Sample(s *sample.Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.up {
		r.early++
	}
	kept := *s
	kept.Bytes = bytes.Clone(s.Bytes)
	r.samples = append(r.samples, kept)
}

func (r *recorder) Metadata(m *sample.Metadata) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meta = m
	r.log = append(r.log, "metadata "+m.Units)
}

func (r *recorder) Suspect(from, to int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf("suspect %v", time.Duration(to-from)))
}

func (r *recorder) Dropped(reason sample.Reason, n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped[reason] += n
	r.log = append(r.log, fmt.Sprintf("dropped %v %d", reason, n))
}

func (r *recorder) Disconnected(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.up, r.cause = false, cause
	r.log = append(r.log, "disconnected: "+cause.Error())
}

// view calls f with the recorder locked.
func (r *recorder) view(f func(r *recorder) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return f(r)
}

// await waits until cond holds, of a real server or socket.
func await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func newClient(t *testing.T, config Config) *Client {
	t.Helper()
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
