package pebble

import (
	"bytes"
	"context"
	"fmt"
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
	setDeleted // the element is the start of the range; its end, and whether it is done, follow
)

// AddChannel implements store.Store.
func (s *Store) AddChannel(ctx context.Context, c store.Channel) error {
	defer s.reportDirectory(c.PV, false)
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
		for _, d := range c.Deleted {
			if err == nil {
				err = b.Set(appendDeleted(append(pvKey(tableChannel, c.PV), setDeleted), &d), nil, nil)
			}
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

// ChannelNames implements store.NameLister.
func (s *Store) ChannelNames(ctx context.Context) iter.Seq2[string, error] {
	prefix := []byte{tableChannel}
	return func(yield func(string, error) bool) {
		var last []byte // the part of the last key that is the same for all elements of a PV
		for e, err := range scan(ctx, s.db, prefix, after(prefix)) {
			if err == nil && last != nil && bytes.HasPrefix(e.key, last) {
				continue
			}
			var pv string
			if err == nil {
				var rest []byte
				var ok bool
				if pv, rest, ok = pvOf(e.key); ok {
					last = append(last[:0], e.key[:len(e.key)-len(rest)]...)
				} else {
					err = fmt.Errorf("reading the directory: %w", errCorrupt)
				}
			}
			if !yield(pv, err) || err != nil {
				return
			}
		}
	}
}

// ReportDirectory implements store.DirectoryReporter.
func (s *Store) ReportDirectory(changed func(pv string, deleted bool)) {
	s.reporting.Lock()
	defer s.reporting.Unlock()
	s.changed = append(s.changed, changed)
}

func (s *Store) reportDirectory(pv string, deleted bool) {
	s.reporting.RLock()
	defer s.reporting.RUnlock()
	for _, changed := range s.changed {
		changed(pv, deleted)
	}
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

// DropDamaged removes the elements of the entry of a PV that cannot be read.
func (s *Store) DropDamaged(ctx context.Context, pv string) error {
	defer s.reportDirectory(pv, true)
	return s.commit(ctx, "repair of the directory", func(b *pebble.Batch) error {
		prefix := pvKey(tableChannel, pv)
		for e, err := range scan(ctx, s.db, prefix, after(prefix)) {
			if err != nil {
				return err
			}
			if d, err := decodeElement(e); err == nil && d.bad {
				if err := b.Delete(e.key, nil); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// element is an element of a set of a PV.
type element struct {
	pv  string
	set byte
	n   int64
	del store.Deleted // of setDeleted
	bad bool          // the rest cannot be read
}

// appendDeleted appends the rest of the key of a deleted range.
func appendDeleted(k []byte, d *store.Deleted) []byte {
	done := byte(0)
	if d.Done {
		done = 1
	}
	return append(appendInt64(appendInt64(k, d.From), d.To), done)
}

func decodeElement(e entry) (element, error) {
	pv, rest, ok := pvOf(e.key)
	switch {
	case !ok:
		return element{}, errCorrupt
	case len(rest) == 9 && rest[0] != setDeleted:
		return element{pv: pv, set: rest[0], n: int64At(rest[1:])}, nil
	case len(rest) == 18 && rest[0] == setDeleted && rest[17] <= 1:
		return element{pv: pv, set: setDeleted, del: store.Deleted{From: int64At(rest[1:]), To: int64At(rest[9:]), Done: rest[17] == 1}}, nil
	}
	return element{pv: pv, bad: true}, nil // only this PV suffers
}

func (e element) addTo(c *store.Channel) {
	if e.bad {
		c.Damaged++
		return
	}
	switch e.set {
	case setShards:
		c.Shards = append(c.Shards, int(e.n))
	case setStarts:
		c.Starts = append(c.Starts, store.Bucket(e.n))
	case setTypes:
		c.Types = append(c.Types, sample.Type(e.n))
	case setLevels:
		c.Levels = append(c.Levels, store.Level(e.n))
	case setDeleted:
		c.Deleted = append(c.Deleted, e.del)
	}
}
