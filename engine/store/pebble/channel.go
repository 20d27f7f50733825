package pebble

import (
	"context"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Each element of a set in the directory has a key of its own, so that an element is added
// without reading the set. The key with setPV represents the entry itself.
const (
	setPV byte = iota
	setShards
	setStarts
	setTypes
	setLevels
)

// AddChannel implements store.Store.
func (s *Store) AddChannel(ctx context.Context, c store.Channel) error {
	return s.commit(ctx, "channel", func(b *pebble.Batch) error {
		var err error
		add := func(set byte, element int64) {
			if err == nil {
				err = b.Set(appendInt64(append(pvKey(tableChannel, c.PV), set), element), nil, nil)
			}
		}
		add(setPV, 0)
		for _, shard := range c.Shards {
			add(setShards, int64(shard))
		}
		for _, b := range c.Starts {
			add(setStarts, int64(b))
		}
		for _, t := range c.Types {
			add(setTypes, int64(t))
		}
		for _, l := range c.Levels {
			add(setLevels, int64(l))
		}
		return err
	})
}

// Channel implements store.Store.
func (s *Store) Channel(ctx context.Context, pv string) (c store.Channel, found bool, err error) {
	for c, err := range s.channels(ctx, pvKey(tableChannel, pv)) {
		return c, err == nil, err
	}
	return c, false, nil
}

// Channels implements store.Store.
func (s *Store) Channels(ctx context.Context) iter.Seq2[store.Channel, error] {
	return s.channels(ctx, []byte{tableChannel})
}

// channels yields the directory entries whose keys have a prefix.
func (s *Store) channels(ctx context.Context, prefix []byte) iter.Seq2[store.Channel, error] {
	return func(yield func(store.Channel, error) bool) {
		var c store.Channel
		begun := false
		for e, err := range decoded(scan(ctx, s.db, prefix, after(prefix)), "the directory", decodeElement) {
			if err != nil {
				yield(store.Channel{}, err)
				return
			}
			if begun && e.pv != c.PV {
				if !yield(c, nil) {
					return
				}
				c = store.Channel{}
			}
			begun = true
			c.PV = e.pv
			e.addTo(&c)
		}
		if begun {
			yield(c, nil)
		}
	}
}

// element is an element of a set of a PV.
type element struct {
	pv  string
	set byte
	n   int64
}

func decodeElement(e entry) (element, error) {
	pv, rest, ok := pvOf(e.key)
	if !ok || len(rest) != 9 {
		return element{}, errCorrupt
	}
	return element{pv, rest[0], int64At(rest[1:])}, nil
}

func (e element) addTo(c *store.Channel) {
	switch e.set {
	case setShards:
		c.Shards = append(c.Shards, int(e.n))
	case setStarts:
		c.Starts = append(c.Starts, store.Bucket(e.n))
	case setTypes:
		c.Types = append(c.Types, sample.Type(e.n))
	case setLevels:
		c.Levels = append(c.Levels, store.Level(e.n))
	}
}
