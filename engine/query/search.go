package query

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"varve.dev/varve/engine/nameindex"
	"varve.dev/varve/engine/pvname"
)

// Names returns the sorted names of all matching PVs, in the directory or being captured, and those of the other archive:
// see Through.Names. It returns at most limit names; a negative limit means no limit. A match may have effects.
func (r *Reader) Names(ctx context.Context, match func(pv string) bool, limit int) ([]string, error) {
	return r.Find(ctx, nameindex.Pattern{Match: match}, limit)
}

// Find returns the same names for a pattern.
func (r *Reader) Find(ctx context.Context, p nameindex.Pattern, limit int) (all []string, err error) {
	for name, err := range r.Search(ctx, p, limit) {
		if err != nil {
			return nil, err
		}
		all = append(all, strings.Clone(name)) // a part of a text would keep all names in memory
	}
	return all, nil
}

// Search yields the same names, each once. With an Index, it holds no list of them, and a name is a part of the memory of the
// Index: clone it to keep it. It ends after the first error.
func (r *Reader) Search(ctx context.Context, p nameindex.Pattern, limit int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var indexed iter.Seq2[string, error]
		others := namesFound{limit: limit, set: map[string]struct{}{}}
		err := r.addNamed(ctx, &others, p)
		switch {
		case err != nil:
		case r.Index == nil:
			err = r.scanNames(ctx, &others, p.Matches)
		default:
			var v *nameindex.View
			if v, err = r.Index.View(ctx); err == nil {
				indexed = v.Search(ctx, p, r.sees(ctx))
			}
		}
		if err == nil && r.Through != nil {
			err = r.addOutside(ctx, &others, p.Matches)
		}
		if err != nil {
			yield("", err)
			return
		}
		first(limit, merge(indexed, others.sorted()))(yield)
	}
}

// sees returns a function that reports whether the sender of a request may know a PV. It is nil if everybody may know all.
func (r *Reader) sees(ctx context.Context) func(pv string) bool {
	if r.Visible == nil {
		return nil
	}
	return func(pv string) bool { return r.Visible(ctx, pv) } // the names are canonical; a reader that hides PVs hides others
}

// scanNames adds the matching names in the directory, and those being captured. It reads the whole directory.
func (r *Reader) scanNames(ctx context.Context, found *namesFound, match func(pv string) bool) error {
	if r.Captured != nil {
		for pv := range r.Captured() {
			if ctx.Err() != nil { // match may be slow
				return ctx.Err()
			}
			if r.Sees(ctx, pv) && match(pv) { // a match may have effects
				found.add(pv)
			}
		}
	}
	for ch, err := range r.Store.Channels(ctx) {
		if err != nil {
			return err
		}
		if match(ch.PV) {
			found.add(ch.PV)
		}
	}
	return nil
}

// first yields the first names, up to the limit, unless that is negative.
func first(limit int, names iter.Seq2[string, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		n := 0
		for name, err := range names {
			if err == nil && n == limit {
				return
			}
			if n++; !yield(name, err) || err != nil || n == limit {
				return
			}
		}
	}
}

// merge yields the names of a sequence, which may be nil, and those of a list, in order and each once. Both are sorted.
func merge(names iter.Seq2[string, error], list []string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if names != nil {
			for name, err := range names {
				for err == nil && len(list) > 0 && list[0] <= name {
					if list[0] < name && !yield(list[0], nil) {
						return
					}
					list = list[1:]
				}
				if !yield(name, err) || err != nil {
					return
				}
			}
		}
		for _, name := range list {
			if !yield(name, nil) {
				return
			}
		}
	}
}

// Sees reports whether the sender of a request may know a PV. It is for what is read from elsewhere
// than the store and the memory of engines, which hide PVs by themselves.
func (r *Reader) Sees(ctx context.Context, pv string) bool {
	return r.Visible == nil || r.Visible(ctx, pvname.Canonical(pv))
}

// namesFound is a set of names. It holds little more than the first names, up to the limit.
type namesFound struct {
	limit int
	set   map[string]struct{}
}

func (n *namesFound) add(pv string) {
	n.set[pv] = struct{}{}
	if n.limit >= 0 && len(n.set) > 2*n.limit+1024 {
		for _, pv := range slices.Sorted(maps.Keys(n.set))[n.limit:] {
			delete(n.set, pv)
		}
	}
}

func (n *namesFound) sorted() []string {
	all := slices.Sorted(maps.Keys(n.set))
	if n.limit >= 0 {
		all = all[:min(n.limit, len(all))]
	}
	return all
}
