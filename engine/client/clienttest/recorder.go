package clienttest

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
)

// Recorder is a sink that records all calls.
type Recorder struct {
	mu       sync.Mutex
	Log      []string // all calls except those of Sample
	Info     capture.ChannelInfo
	Meta     *sample.Metadata
	Samples  []sample.Sample
	Up       bool
	Connects int
	Drops    [sample.NumReasons]uint64
	Cause    error // of the last disconnect
	Early    int   // number of samples that arrived while not connected
}

// Connected implements capture.Sink.
func (r *Recorder) Connected(info capture.ChannelInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Info, r.Up, r.Connects = info, true, r.Connects+1
	r.Log = append(r.Log, "connected "+info.Type.String())
}

// Sample implements capture.Sink.
func (r *Recorder) Sample(s *sample.Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.Up {
		r.Early++
	}
	kept := *s
	kept.Bytes = bytes.Clone(s.Bytes)
	r.Samples = append(r.Samples, kept)
}

// Checked implements capture.Sink. It records a value that differs like a call of Suspect.
func (r *Recorder) Checked(s *sample.Sample, since time.Time) (differs bool) {
	r.mu.Lock()
	n := len(r.Samples)
	differs = n == 0 || r.Samples[n-1].Word != s.Word || !bytes.Equal(r.Samples[n-1].Bytes, s.Bytes)
	r.mu.Unlock()
	if differs {
		r.Suspect(since, time.Now())
		r.Sample(s)
	}
	return differs
}

// Metadata implements capture.Sink.
func (r *Recorder) Metadata(m *sample.Metadata) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Meta = m
	r.Log = append(r.Log, "metadata "+m.Units)
}

// Suspect implements capture.Sink.
func (r *Recorder) Suspect(from, to time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Log = append(r.Log, fmt.Sprintf("suspect %v", to.Sub(from)))
}

// Dropped implements capture.Sink.
func (r *Recorder) Dropped(reason sample.Reason, n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Drops[reason] += n
	r.Log = append(r.Log, fmt.Sprintf("dropped %v %d", reason, n))
}

// Disconnected implements capture.Sink.
func (r *Recorder) Disconnected(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Up, r.Cause = false, cause
	r.Log = append(r.Log, "disconnected: "+cause.Error())
}

// View calls f with the recorder locked.
func (r *Recorder) View(f func(r *Recorder) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return f(r)
}

// Has reports whether the channel is connected and the recorder has at least n samples.
func (r *Recorder) Has(n int) bool {
	return r.View(func(r *Recorder) bool { return r.Up && len(r.Samples) >= n })
}

// Back reports whether the channel is connected for the nth time.
func (r *Recorder) Back(n int) bool {
	return r.View(func(r *Recorder) bool { return r.Up && r.Connects == n })
}

// Calls returns all calls except those of Sample.
func (r *Recorder) Calls() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.Log)
}

// Suspects returns the calls of Suspect.
func (r *Recorder) Suspects() []string {
	return slices.DeleteFunc(r.Calls(), func(s string) bool { return !strings.HasPrefix(s, "suspect") })
}

// Words returns the values of the samples.
func (r *Recorder) Words() []uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []uint64
	for _, s := range r.Samples {
		out = append(out, s.Word)
	}
	return out
}

// Floats returns the values of the samples, which must be of type float64.
func (r *Recorder) Floats() []float64 {
	var out []float64
	for _, w := range r.Words() {
		out = append(out, math.Float64frombits(w))
	}
	return out
}

// ignore is a sink that ignores all calls.
type ignore struct{}

func (ignore) Connected(capture.ChannelInfo)          {}
func (ignore) Sample(*sample.Sample)                  {}
func (ignore) Checked(*sample.Sample, time.Time) bool { return false }
func (ignore) Metadata(*sample.Metadata)              {}
func (ignore) Suspect(time.Time, time.Time)           {}
func (ignore) Dropped(sample.Reason, uint64)          {}
func (ignore) Disconnected(error)                     {}

// Tally is a sink that only counts. It is for tests with many channels.
type Tally struct {
	ignore
	Connects atomic.Int64
	Samples  atomic.Uint64
	Cause    atomic.Value // text of the error of the last disconnect, or nil
}

// Connected implements capture.Sink.
func (c *Tally) Connected(capture.ChannelInfo) { c.Connects.Add(1) }

// Disconnected implements capture.Sink.
func (c *Tally) Disconnected(cause error) { c.Cause.Store(cause.Error()) }

// Sample implements capture.Sink.
func (c *Tally) Sample(*sample.Sample) { c.Samples.Add(1) }

// Counter is a sink that costs very little. It is for benchmarks.
type Counter struct {
	ignore
	N, Sum uint64
}

// Sample implements capture.Sink.
func (c *Counter) Sample(s *sample.Sample) {
	c.N++
	c.Sum += s.Word
}
