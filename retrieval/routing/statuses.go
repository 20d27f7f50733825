package routing

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"

	"varve.dev/varve/engine/capture"
)

// readAhead is how many channel states are read ahead from each engine.
const readAhead = 256

// statusStream is the stream of channel states of one engine.
type statusStream struct {
	url  string
	next chan answer[capture.Status] // closed by readStatuses at its end
	head capture.Status
	open bool // head is valid
}

// Statuses yields the states of all channels that engines capture, sorted by name. If several
// engines capture a channel, for example while its shard moves, Statuses yields only the state
// from the engine that seals the shard. An error means that one engine could not be queried;
// the states from the other engines follow.
func (r *Router) Statuses(ctx context.Context) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		at := r.table.Load()
		streams := make([]*statusStream, len(at.engines))
		for i, url := range at.engines {
			streams[i] = &statusStream{url: url, next: make(chan answer[capture.Status], readAhead)}
			wg.Go(func() { r.readStatuses(ctx, streams[i]) })
		}
		r.merge(at, streams, yield)
	}
}

// readStatuses feeds a stream until ctx ends.
func (r *Router) readStatuses(ctx context.Context, s *statusStream) {
	defer close(s.next)
	r.metrics.queried.Inc()
	for status, err := range r.peers.Statuses(ctx, s.url) {
		if err != nil {
			r.metrics.failed.Inc()
		}
		select {
		case s.next <- answer[capture.Status]{status, err}:
		case <-ctx.Done():
			return
		}
	}
}

// advance moves the stream to its next channel. If the stream has an error instead of a
// channel, advance returns the error.
func (s *statusStream) advance() (err error) {
	a, open := <-s.next
	if s.open = open && a.err == nil; s.open {
		s.head = a.value
	}
	return a.err
}

// merge merges the streams, sorted by PV.
func (r *Router) merge(at *table, streams []*statusStream, yield func(capture.Status, error) bool) {
	for _, s := range streams {
		if err := s.advance(); err != nil && !yield(capture.Status{}, err) {
			return
		}
	}
	for {
		streams = slices.DeleteFunc(streams, func(s *statusStream) bool { return !s.open })
		if len(streams) == 0 {
			return
		}
		pv := slices.MinFunc(streams, func(a, b *statusStream) int { return cmp.Compare(a.head.PV, b.head.PV) }).head.PV
		var same []*statusStream
		for _, s := range streams {
			if s.head.PV == pv {
				same = append(same, s)
			}
		}
		best := bestView(at, same)
		best.head.Engine = at.names[best.url]
		if !yield(best.head, nil) {
			return
		}
		for _, s := range same {
			if err := s.advance(); err != nil && !yield(capture.Status{}, err) {
				return
			}
		}
	}
}

// bestView returns the stream whose state of a channel counts: the sealer's stream, or else
// the stream of an engine that has connected the channel.
func bestView(at *table, same []*statusStream) *statusStream {
	if len(same) == 1 {
		return same[0]
	}
	sealer := at.sealer(same[0].head.PV)
	return slices.MinFunc(same, func(a, b *statusStream) int { return cmp.Compare(rank(a, sealer), rank(b, sealer)) })
}

func rank(s *statusStream, sealer string) int {
	switch {
	case s.url == sealer:
		return 0
	case s.head.State == capture.Connected:
		return 1
	}
	return 2
}
