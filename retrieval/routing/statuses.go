package routing

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"

	"varve.dev/varve/engine/capture"
)

// ahead is how many states of channels are read before they are needed, from
// each engine.
const ahead = 256

// stream is what one engine tells, channel by channel.
type stream struct {
	url  string
	next chan answer[capture.Status] // closed by the stream's goroutine at its end
	head capture.Status
	open bool // head is valid
}

// Statuses yields the states of all channels that engines capture, sorted by
// name. A channel that several have, as while a shard moves, is told once: as the
// engine sees it that seals the shard. An error says that an engine could not be
// asked; what others tell follows.
func (o *Owners) Statuses(ctx context.Context) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		at := o.atlas.Load()
		streams := make([]*stream, len(at.engines))
		for i, url := range at.engines {
			streams[i] = &stream{url: url, next: make(chan answer[capture.Status], ahead)}
			wg.Go(func() { o.read(ctx, streams[i]) })
		}
		o.merge(at, streams, yield)
	}
}

// read feeds a stream until ctx ends.
func (o *Owners) read(ctx context.Context, s *stream) {
	defer close(s.next)
	o.metrics.asked.Inc()
	for status, err := range o.peers.Statuses(ctx, s.url) {
		if err != nil {
			o.metrics.failed.Inc()
		}
		select {
		case s.next <- answer[capture.Status]{status, err}:
		case <-ctx.Done():
			return
		}
	}
}

// advance moves a stream on, and returns an error that it tells on the way.
func (s *stream) advance() (err error) {
	a, open := <-s.next
	if s.open = open && a.err == nil; s.open {
		s.head = a.value
	}
	return a.err
}

// merge yields what streams tell, in order of names.
func (o *Owners) merge(at *atlas, streams []*stream, yield func(capture.Status, error) bool) {
	for _, s := range streams {
		if err := s.advance(); err != nil && !yield(capture.Status{}, err) {
			return
		}
	}
	for {
		streams = slices.DeleteFunc(streams, func(s *stream) bool { return !s.open })
		if len(streams) == 0 {
			return
		}
		pv := slices.MinFunc(streams, func(a, b *stream) int { return cmp.Compare(a.head.PV, b.head.PV) }).head.PV
		var same []*stream
		for _, s := range streams {
			if s.head.PV == pv {
				same = append(same, s)
			}
		}
		if !yield(best(at, same).head, nil) {
			return
		}
		for _, s := range same {
			if err := s.advance(); err != nil && !yield(capture.Status{}, err) {
				return
			}
		}
	}
}

// best returns the stream whose view of a channel counts: that of the sealer, or
// else of one that has the channel connected.
func best(at *atlas, same []*stream) *stream {
	if len(same) == 1 {
		return same[0]
	}
	sealer := at.sealer(same[0].head.PV)
	return slices.MinFunc(same, func(a, b *stream) int { return cmp.Compare(rank(a, sealer), rank(b, sealer)) })
}

func rank(s *stream, sealer string) int {
	switch {
	case s.url == sealer:
		return 0
	case s.head.State == capture.Connected:
		return 1
	}
	return 2
}
