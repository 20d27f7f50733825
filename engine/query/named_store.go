package query

import (
	"context"
	"iter"

	"varve.dev/varve/engine/store"
)

// namedStore is a store whose directory, marks and metadata are those of all names of a PV. Other rows are those of the name
// that is given.
type namedStore struct {
	store.Store
	named *named
}

// Channel implements store.Directory.
func (s *namedStore) Channel(ctx context.Context, pv string) (store.Channel, bool, error) {
	list, err := s.named.parts(ctx, pv)
	if err != nil || list == nil {
		if err != nil {
			return store.Channel{}, false, err
		}
		return s.Store.Channel(ctx, pv)
	}
	ch, found, err := s.named.merged(ctx, list)
	ch.PV = pv
	return ch, found, err
}

// period is the time in which the marks and metadata of a name count: [from, to].
type period struct {
	name     string
	from, to int64
}

// periods returns the periods of a list of names, the latest first.
func (n *named) periods(ctx context.Context, list []string) (all []period, err error) {
	to := int64(Latest)
	for i, name := range list {
		from := int64(Earliest)
		if i < len(list)-1 {
			if from, err = n.since(ctx, list[i:]); err != nil {
				return nil, err
			}
		}
		if from <= to {
			all = append(all, period{name, from, to})
		}
		to = min(to, from-1)
	}
	return all, nil
}

// since returns the time from which on the marks of the first name of a list count. While Varve waits for the first
// connection under the new name, marks of the former one count as long as updates arrive under it.
func (n *named) since(ctx context.Context, list []string) (int64, error) {
	seam, err := n.seam(ctx, list[0])
	if err != nil || seam != noSeam {
		return seam, err
	}
	if marked, err := isMarked(ctx, n.base.Store, list[0]); err != nil || !marked {
		return Latest + 1, err
	}
	for _, old := range list[1:] {
		m, found, err := n.base.StateMark(ctx, old, Latest)
		switch {
		case err != nil:
			return 0, err
		case found && m.Kind.Delivers():
			return Latest + 1, nil
		case found:
			return m.Time + 1, nil
		}
	}
	return Earliest, nil
}

// of returns the periods of a PV, or nil if it has only one name.
func (s *namedStore) of(ctx context.Context, pv string) ([]period, error) {
	list, err := s.named.parts(ctx, pv)
	if err != nil || list == nil {
		return nil, err
	}
	return s.named.periods(ctx, list)
}

// Marks implements store.Marks.
func (s *namedStore) Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMark, error] {
	return func(yield func(store.PVMark, error) bool) {
		all, err := s.of(ctx, pv)
		if all == nil && err == nil {
			s.Store.Marks(ctx, pv, from, to)(yield)
			return
		}
		if err != nil {
			yield(store.PVMark{}, err)
			return
		}
		for i := len(all) - 1; i >= 0; i-- {
			p := all[i]
			if max(from, p.from) > min(to, p.to) {
				continue
			}
			for m, err := range s.Store.Marks(ctx, p.name, max(from, p.from), min(to, p.to)) {
				if m.PV = pv; !yield(m, err) || err != nil {
					return
				}
			}
		}
	}
}

// LatestMarks implements store.Marks.
func (s *namedStore) LatestMarks(ctx context.Context, pv string, at int64) iter.Seq2[store.PVMark, error] {
	return func(yield func(store.PVMark, error) bool) {
		all, err := s.of(ctx, pv)
		if all == nil && err == nil {
			s.Store.LatestMarks(ctx, pv, at)(yield)
			return
		}
		if err != nil {
			yield(store.PVMark{}, err)
			return
		}
		for _, p := range all {
			if at < p.from {
				continue
			}
			for m, err := range s.Store.LatestMarks(ctx, p.name, min(at, p.to)) {
				if err == nil && m.Time < p.from {
					break
				}
				if m.PV = pv; !yield(m, err) || err != nil {
					return
				}
			}
		}
	}
}

// MetadataAt implements store.Marks.
func (s *namedStore) MetadataAt(ctx context.Context, pv string, at int64) (store.PVMetadata, bool, error) {
	list, err := s.named.parts(ctx, pv)
	if err != nil {
		return store.PVMetadata{}, false, err
	}
	if list == nil {
		return s.Store.MetadataAt(ctx, pv, at)
	}
	m, found, err := s.named.metadataAt(ctx, list, at)
	m.PV = pv
	return m, found, err
}

// metadataAt returns the metadata of a list of names at a time.
func (n *named) metadataAt(ctx context.Context, list []string, at int64) (first store.PVMetadata, found bool, err error) {
	all, err := n.periods(ctx, list)
	if err != nil {
		return first, false, err
	}
	for _, p := range all {
		m, is, err := n.base.Store.MetadataAt(ctx, p.name, min(max(at, p.from), p.to))
		if err != nil {
			return first, false, err
		}
		if !is || m.Time > p.to {
			continue
		}
		if first, found = m, true; m.Time <= at && at >= p.from {
			break
		}
	}
	return first, found, nil
}

// Metadata implements store.Marks.
func (s *namedStore) Metadata(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMetadata, error] {
	return func(yield func(store.PVMetadata, error) bool) {
		all, err := s.of(ctx, pv)
		if all == nil && err == nil {
			s.Store.Metadata(ctx, pv, from, to)(yield)
			return
		}
		if err != nil {
			yield(store.PVMetadata{}, err)
			return
		}
		for i := len(all) - 1; i >= 0; i-- {
			p := all[i]
			if max(from, p.from) > min(to, p.to) {
				continue
			}
			for m, err := range s.Store.Metadata(ctx, p.name, max(from, p.from), min(to, p.to)) {
				if m.PV = pv; !yield(m, err) || err != nil {
					return
				}
			}
		}
	}
}

// Describe implements store.Describer.
func (s *namedStore) Describe(ctx context.Context) (store.Description, error) {
	return store.Describe(ctx, s.Store)
}

// DescribePV implements store.Describer. It does not count the samples that are stored under former names.
func (s *namedStore) DescribePV(ctx context.Context, pv string, now int64) (store.PVDescription, error) {
	if list, err := s.named.parts(ctx, pv); err == nil && list != nil {
		pv = list[0]
	}
	return store.DescribePV(ctx, s.Store, pv, now)
}
