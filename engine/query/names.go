package query

import (
	"context"
	"iter"
	"slices"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Known reports whether a PV is being captured or was captured once, even if it never connected.
func (r *Reader) Known(ctx context.Context, pv string) (bool, error) {
	if list, err := r.parts(ctx, pv); list != nil || err != nil {
		return anyOf(list, err, func(name string) (bool, error) { return r.named.base.Known(ctx, name) })
	}
	if here, err := r.KnownHere(ctx, pv); here || err != nil {
		return here, err
	}
	outside, err := r.outside(ctx, pv)
	return outside.Known, err
}

// KnownHere reports the same without asking another archive.
func (r *Reader) KnownHere(ctx context.Context, pv string) (bool, error) {
	if list, err := r.parts(ctx, pv); list != nil || err != nil {
		return anyOf(list, err, func(name string) (bool, error) { return r.named.base.KnownHere(ctx, name) })
	}
	pv = pvname.Canonical(pv)
	if _, found, err := r.Store.Channel(ctx, pv); found || err != nil {
		return found, err
	}
	if r.Recent != nil && r.Recent.Recent(ctx, RecentRequest{PV: pv, From: Latest, To: Latest}).Known {
		return true, nil
	}
	return isMarked(ctx, r.Store, pv)
}

// isMarked reports whether the store has a mark of a PV, such as one that it was never found.
func isMarked(ctx context.Context, st store.Store, pv string) (bool, error) {
	for _, err := range st.LatestMarks(ctx, pv, Latest) {
		return err == nil, err
	}
	return false, nil
}

// Type returns the latest type of a PV's samples in the directory, or Unknown if the
// directory has none, and no other archive has one.
func (r *Reader) Type(ctx context.Context, pv string) (sample.Type, error) {
	if list, err := r.parts(ctx, pv); list != nil || err != nil {
		return r.named.typeOf(ctx, list, err)
	}
	ch, _, err := r.Store.Channel(ctx, pvname.Canonical(pv))
	if err != nil {
		return sample.Unknown, err
	}
	if len(ch.Types) == 0 {
		outside, err := r.outside(ctx, pv)
		return outside.Type, err
	}
	return ch.Types[len(ch.Types)-1], nil
}

// Types returns the types that a PV's samples have had, as far as the directory has them, and the
// latest type in another archive if a read from a time, in ns since 1970, needs that archive.
func (r *Reader) Types(ctx context.Context, pv string, from int64) ([]sample.Type, error) {
	if list, err := r.parts(ctx, pv); list != nil || err != nil {
		return r.named.types(ctx, list, from, err)
	}
	ch, _, err := r.Store.Channel(ctx, pvname.Canonical(pv))
	types := slices.Clone(ch.Types)
	if err != nil {
		return types, err
	}
	if len(types) > 0 {
		if seam, err := r.Seam(ctx, pv); err != nil || !needsOutside(seam, max(from, Earliest), Options{}) {
			return types, err
		}
	}
	outside, err := r.outside(ctx, pv)
	if err != nil && len(types) > 0 {
		return types, nil // a read that needs the other archive fails by itself
	}
	if outside.Type.Valid() && !slices.Contains(types, outside.Type) {
		types = append([]sample.Type{outside.Type}, types...)
	}
	return types, err
}

// Levels returns the levels of rollups that a PV has, or had.
func (r *Reader) Levels(ctx context.Context, pv string) ([]store.Level, error) {
	ch, _, err := r.Store.Channel(ctx, pvname.Canonical(pv))
	return slices.DeleteFunc(ch.Levels, func(l store.Level) bool { return !l.Valid() }), err
}

// Metadata returns the metadata of a PV at a time in ns since 1970: the latest entry at or
// before that time, or the first entry if there is none. It returns false if the archive has
// no metadata of the PV.
func (r *Reader) Metadata(ctx context.Context, pv string, at int64) (sample.Metadata, bool, error) {
	if list, err := r.parts(ctx, pv); list != nil || err != nil {
		return r.named.metadata(ctx, list, at, err)
	}
	m, found, err := r.Store.MetadataAt(ctx, pvname.Canonical(pv), at)
	if found || err != nil || r.Through == nil {
		return m.Metadata, found, err
	}
	ch, _, err := r.Store.Channel(ctx, pvname.Canonical(pv))
	if err != nil || len(ch.Types) > 0 {
		return sample.Metadata{}, false, err
	}
	outside, err := r.outside(ctx, pv)
	if outside.Metadata != nil {
		return *outside.Metadata, true, err
	}
	return sample.Metadata{}, false, err
}

// MetadataHistory yields the metadata of a PV over a range in ns since 1970, by time. It first
// yields the metadata at from, as Metadata returns it. It then yields each entry that differs
// from the previous one.
func (r *Reader) MetadataHistory(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMetadata, error] {
	pv = pvname.Canonical(pv)
	return func(yield func(store.PVMetadata, error) bool) {
		last, found, err := r.Store.MetadataAt(ctx, pv, from)
		if err != nil || !found || !yield(last, nil) {
			if err != nil {
				yield(store.PVMetadata{}, err)
			}
			return
		}
		for m, err := range r.Store.Metadata(ctx, pv, from, to) {
			if err == nil && m.Equal(&last.Metadata) {
				continue // for example, two engines recorded one change
			}
			if !yield(m, err) || err != nil {
				return
			}
			last = m
		}
	}
}

// Marks yields the marks of a PV with Time in [from, to], in ns since 1970, by time.
func (r *Reader) Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMark, error] {
	return r.Store.Marks(ctx, pvname.Canonical(pv), from, to)
}

// maxMarks limits the marks that StateMark reads, because a PV may have many losses.
const maxMarks = 1000

// StateMark returns the latest mark of a PV at or before a time, in ns since 1970, that says
// whether updates arrived. It returns false if there is none.
func (r *Reader) StateMark(ctx context.Context, pv string, at int64) (m sample.Mark, found bool, err error) {
	read := 0
	for m, err := range r.Store.LatestMarks(ctx, pvname.Canonical(pv), at) {
		if err != nil {
			return m.Mark, false, err
		}
		if m.Kind.IsState() {
			return m.Mark, true, nil
		}
		if read++; read == maxMarks {
			break
		}
	}
	return m, false, nil
}
