package field

import (
	"context"
	"iter"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
)

// Reader returns a reader that reads what r reads, and fields of PVs.
func Reader(r *query.Reader) *query.Reader {
	with, src := *r, &source{r}
	with.Store, with.Recent = &fieldStore{r.Store, src}, src
	if r.Through != nil {
		with.Through = src.through(r.Through)
	}
	return &with
}

// through returns an older archive that is not asked for the fields of PVs of this archive. It may know them as PVs,
// but their history here begins with the PV.
func (s *source) through(older *query.Through) *query.Through {
	return &query.Through{
		Outside: func(ctx context.Context, name string) (query.Outside, error) {
			if h, err := s.find(ctx, name); h != nil || err != nil {
				return query.Outside{}, err
			}
			return older.Outside(ctx, name)
		},
		Samples: func(ctx context.Context, name string, from, to int64) iter.Seq2[*sample.Run, error] {
			return func(yield func(*sample.Run, error) bool) {
				h, err := s.find(ctx, name)
				switch {
				case err != nil:
					yield(nil, err)
				case h == nil:
					older.Samples(ctx, name, from, to)(yield)
				}
			}
		},
		Names: older.Names,
	}
}

// PV returns the PV that a canonical name is about. If the name has the form of a field and is not a PV itself, this is
// the PV before the dot; otherwise it is the name. Everybody who may read this PV may read the name. PV also returns
// whether the PV has a history of the field. r is a result of Reader.
func PV(ctx context.Context, r *query.Reader, name string) (pv string, is bool, err error) {
	s, has := r.Store.(*fieldStore)
	pv, _, ok := split(name)
	if !has || !ok {
		return name, false, nil
	}
	if !s.of.Sees(ctx, name) { // a rule hides the name, so it looks unknown
		return name, false, nil
	}
	if known, err := s.of.KnownHere(ctx, name); known || err != nil {
		return name, false, err
	}
	h, err := s.find(ctx, name)
	return pv, h != nil, err
}

// source finds fields in what a reader reads.
type source struct{ of *query.Reader }

// find returns the history of a field, given a canonical name. It returns nil if the name is not a field of a PV, or
// if it is a PV itself.
func (s *source) find(ctx context.Context, name string) (*history, error) {
	pv, field, ok := split(name)
	if !ok || !s.of.Sees(ctx, name) {
		return nil, nil
	}
	if known, err := s.of.KnownHere(ctx, name); known || err != nil {
		return nil, err
	}
	return readHistory(ctx, s.of.Store, pv, field)
}

// Recent implements query.Recent. No engine has samples of a field in memory. But an engine that does not answer
// may know a change of the metadata, so a field is as complete as its PV.
func (s *source) Recent(ctx context.Context, q query.RecentRequest) query.Held {
	h, err := s.find(ctx, q.PV)
	if err != nil {
		return query.Held{Missing: err, MissingFrom: query.Earliest}
	}
	if h == nil {
		return s.recent(ctx, q)
	}
	held := s.recent(ctx, query.RecentRequest{PV: h.pv, Shards: q.Shards, From: query.Latest, To: query.Latest})
	held.Known = true
	held.Runs = []*sample.Run{h.run}
	return held
}

func (s *source) recent(ctx context.Context, q query.RecentRequest) query.Held {
	if s.of.Recent == nil {
		return query.Held{Unanswered: true}
	}
	return s.of.Recent.Recent(ctx, q)
}
