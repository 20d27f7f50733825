package field

import (
	"context"
	"iter"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// fieldStore is a store whose directory and metadata have fields, too. A field has no blocks, rollups and marks.
type fieldStore struct {
	store.Store
	*source
}

// Channel implements store.Directory.
func (s *fieldStore) Channel(ctx context.Context, name string) (store.Channel, bool, error) {
	if _, _, ok := split(name); !ok || s.of.Sees(ctx, name) { // most names with a dot are PVs
		if c, found, err := s.Store.Channel(ctx, name); !ok || found || err != nil {
			return c, found, err
		}
	}
	h, err := s.find(ctx, name)
	if err != nil {
		return store.Channel{}, false, err
	}
	if h == nil {
		return s.Store.Channel(ctx, name)
	}
	c, _, err := s.Store.Channel(ctx, h.pv)
	return store.Channel{PV: name, Shards: c.Shards, Types: []sample.Type{h.run.Type}}, true, err
}

// Marks implements store.Marks.
func (s *fieldStore) Marks(ctx context.Context, name string, from, to int64) iter.Seq2[store.PVMark, error] {
	return s.unlessField(ctx, name, func() iter.Seq2[store.PVMark, error] { return s.Store.Marks(ctx, name, from, to) })
}

// LatestMarks implements store.Marks.
func (s *fieldStore) LatestMarks(ctx context.Context, name string, at int64) iter.Seq2[store.PVMark, error] {
	return s.unlessField(ctx, name, func() iter.Seq2[store.PVMark, error] { return s.Store.LatestMarks(ctx, name, at) })
}

// unlessField yields the marks of a PV, and nothing for a field.
func (s *fieldStore) unlessField(ctx context.Context, name string, marks func() iter.Seq2[store.PVMark, error]) iter.Seq2[store.PVMark, error] {
	if _, _, ok := split(name); !ok {
		return marks()
	}
	return func(yield func(store.PVMark, error) bool) {
		h, err := s.find(ctx, name)
		switch {
		case err != nil:
			yield(store.PVMark{}, err)
		case h == nil:
			marks()(yield)
		}
	}
}

// MetadataAt implements store.Marks.
func (s *fieldStore) MetadataAt(ctx context.Context, name string, at int64) (store.PVMetadata, bool, error) {
	h, err := s.find(ctx, name)
	if err != nil {
		return store.PVMetadata{}, false, err
	}
	if h == nil {
		return s.Store.MetadataAt(ctx, name, at)
	}
	m, found, err := s.Store.MetadataAt(ctx, h.pv, at)
	return h.metadata(&m, name), found, err
}

// Metadata implements store.Marks.
func (s *fieldStore) Metadata(ctx context.Context, name string, from, to int64) iter.Seq2[store.PVMetadata, error] {
	return func(yield func(store.PVMetadata, error) bool) {
		h, err := s.find(ctx, name)
		if err != nil {
			yield(store.PVMetadata{}, err)
			return
		}
		if h == nil {
			s.Store.Metadata(ctx, name, from, to)(yield)
			return
		}
		for m, err := range s.Store.Metadata(ctx, h.pv, from, to) {
			if !yield(h.metadata(&m, name), err) || err != nil {
				return
			}
		}
	}
}

// Describe implements store.Describer.
func (s *fieldStore) Describe(ctx context.Context) (store.Description, error) {
	return store.Describe(ctx, s.Store)
}

// DescribePV implements store.Describer. A field takes no space of its own.
func (s *fieldStore) DescribePV(ctx context.Context, pv string, now int64) (store.PVDescription, error) {
	return store.DescribePV(ctx, s.Store, pv, now)
}
