package golden

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

const (
	shards = 4
	// patience bounds each step of an engine's life.
	patience = 4 * time.Minute
	soon     = 20 * time.Millisecond
)

// Fill makes three engines capture the first three rounds, one after another:
//
//	1  ends in order: blocks, rollups, marks
//	2  a PV leaves its group; ends in order
//	3  is killed: unsealed journal rows, an open claim
func Fill(ctx context.Context, st store.Store) error {
	all, rest := kinds(), slices.DeleteFunc(kinds(), func(k kind) bool { return k.pv == Retired })
	for round, life := range []life{
		{kinds: all, checkpoint: soon, after: all},
		{kinds: all, checkpoint: soon, after: rest},
		{kinds: rest, checkpoint: time.Hour, killed: true},
	} {
		life.round = round
		if err := life.run(ctx, st); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	return nil
}

// Append makes one more engine capture another round, and seal everything.
func Append(ctx context.Context, st store.Store, round int) error {
	rest := slices.DeleteFunc(kinds(), func(k kind) bool { return k.pv == Retired })
	l := life{round: round, kinds: rest, checkpoint: soon, after: rest}
	return l.run(ctx, st)
}

// life is one run of an engine.
type life struct {
	round      int
	kinds      []kind // captured from the start
	after      []kind // captured at the end
	checkpoint time.Duration
	// killed means that nothing reaches the store any more once the samples are acknowledged.
	// Otherwise the engine seals them before it ends.
	killed bool
}

func (l *life) run(ctx context.Context, st store.Store) error {
	to := &mortal{Store: st}
	source := &source{sinks: map[string]capture.Sink{}}
	e := engine.New(engine.Options{
		Store: to, Sources: capture.Sources{source}, Shards: shards, Flush: soon, Checkpoint: l.checkpoint,
		Exclusive: true, Alone: true,
	})
	e.Apply(assignment(l.kinds))
	ctx, end := context.WithCancel(ctx)
	unsaved := make(chan int, 1)
	go func() { unsaved <- e.Run(ctx) }()
	err := l.feed(ctx, e, source, st)
	if l.killed {
		to.dead.Store(true)
	}
	end()
	if n := <-unsaved; n > 0 && !l.killed {
		err = errors.Join(err, fmt.Errorf("%d samples were not saved", n))
	}
	return err
}

// feed sends the samples of the round and waits until they are stored as the life wants it.
func (l *life) feed(ctx context.Context, e *engine.Engine, from *source, st store.Store) error {
	for _, k := range l.kinds {
		for _, u := range k.updates(l.round) {
			from.sink(k).Sample(&u.sample)
		}
	}
	if err := eventually(ctx, "the samples are acknowledged", func() (bool, error) { return e.Unsaved() == 0, nil }); err != nil || l.killed {
		return err
	}
	for _, k := range l.kinds {
		want := len(k.updates(l.round)) * (l.round + 1)
		err := eventually(ctx, "the samples of "+k.pv+" are in blocks", func() (bool, error) {
			n, err := inBlocks(ctx, st, k.pv)
			return n >= want, err
		})
		if err != nil {
			return err
		}
	}
	e.Apply(assignment(l.after))
	return eventually(ctx, "the retired PV is marked", func() (bool, error) {
		if len(l.after) == len(l.kinds) {
			return true, nil
		}
		for m, err := range st.Marks(ctx, Retired, 0, time.Now().UnixNano()) {
			if err != nil || m.Kind == sample.Removed {
				return err == nil, err
			}
		}
		return false, nil
	})
}

func eventually(ctx context.Context, what string, ok func() (bool, error)) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(soon) {
		done, err := ok()
		switch {
		case err != nil || done:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			return fmt.Errorf("not in %v: %s", patience, what)
		}
	}
}

// inBlocks returns the number of samples of a PV in blocks.
func inBlocks(ctx context.Context, st store.Store, pv string) (n int, err error) {
	c, _, err := st.Channel(ctx, pv)
	if err != nil {
		return 0, err
	}
	for _, first := range c.Starts {
		for b := first; b <= first.Span().Last(); b = b.Next() {
			for blk, err := range st.Blocks(ctx, pv, b, b.Start(), b.End()) {
				if err != nil {
					return n, err
				}
				n += blk.Count
			}
		}
	}
	return n, nil
}

// assignment returns shards with the PVs, all sealed. The rollups of the steady PV have bins of 10 s.
func assignment(of []kind) engine.Assignment {
	a := engine.Assignment{}
	for i := range shards {
		a[i] = engine.Shard{Seal: true, MarkRemoved: true}
	}
	for _, k := range of {
		settings := &capture.Settings{}
		if k.pv == Steady {
			settings.Retention.Levels[0] = store.LevelOf(10*time.Second, store.Forever)
		}
		i := pvname.Shard(k.pv, shards)
		s := a[i]
		s.Channels = append(s.Channels, capture.Channel{PV: k.pv, Group: "golden/all", Settings: settings})
		a[i] = s
	}
	return a
}

// mortal is a store whose writes fail once it is dead, as if the process had been killed.
type mortal struct {
	store.Store
	dead atomic.Bool
}

var errDead = errors.New("the engine was killed")

func (m *mortal) alive(f func() error) error {
	if m.dead.Load() {
		return errDead
	}
	return f()
}

func (m *mortal) PutClaim(ctx context.Context, c store.Claim) error {
	return m.alive(func() error { return m.Store.PutClaim(ctx, c) })
}

func (m *mortal) PutBlocks(ctx context.Context, b ...store.Block) error {
	return m.alive(func() error { return m.Store.PutBlocks(ctx, b...) })
}

func (m *mortal) PutJournal(ctx context.Context, r store.JournalRow) error {
	return m.alive(func() error { return m.Store.PutJournal(ctx, r) })
}

func (m *mortal) Seal(ctx context.Context, shard int, w store.WriterID, to store.Position) error {
	return m.alive(func() error { return m.Store.Seal(ctx, shard, w, to) })
}

// source is a client whose channels are connected at once, and which delivers what feed sends.
type source struct {
	mu    sync.Mutex
	sinks map[string]capture.Sink
}

// Subscribe implements capture.Source.
func (s *source) Subscribe(pv string, _ capture.SubscribeOptions, sink capture.Sink) capture.Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sinks[pv] = sink
	for _, k := range kinds() {
		if k.pv == pv {
			sink.Connected(capture.ChannelInfo{Type: k.t, TypeName: k.t.String(), Count: 1, Host: "192.0.2.1:5064"})
			sink.Metadata(&sample.Metadata{Units: units, Precision: 3, Type: k.t, Count: 1, Host: "192.0.2.1:5064"})
		}
	}
	return subscription{}
}

// sink returns the sink of a PV. Apply has subscribed it.
func (s *source) sink(k kind) capture.Sink {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sinks[k.pv]
}

// Reach implements capture.Source.
func (*source) Reach() capture.Reach { return capture.Reach{} }

// Close implements capture.Source.
func (*source) Close() error { return nil }

type subscription struct{}

func (subscription) Close() {}
