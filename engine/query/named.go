package query

import (
	"context"
	"errors"
	"iter"
	"slices"

	"varve.dev/varve/engine/nameindex"
	"varve.dev/varve/engine/names"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// named reads PVs by all their names:
//
//	          seam of OLD         seam of NEW: the first time that this archive was connected to NEW
//	──────────────┼───────────────────┼──────────────▶ time
//	OLDER         │                   │
//	OLD, if it has│ OLD               │
//	any           │ NEW, if it has any│ NEW
//
// The samples of each name stay stored under that name. Before the seam of a name, a read also has the samples of the
// names before it, because the first value of a subscription, and imported samples, may be older than the seam. A sample
// that two names have is yielded once. After the seam, a former name is not read, even if its record still exists. A name
// that was never connected has no seam: all samples of its former names count.
//
// A sender of a request who may not read a former name reads a history without it.
type named struct {
	base  *Reader // reads a PV by the name under which it is stored
	book  *names.Book
	seams Through // only its cache
}

// Named returns a reader that reads what r reads, by all names that a book has. Without a book, it returns r.
func Named(r *Reader, book *names.Book) *Reader {
	if book == nil {
		return r
	}
	with := *r
	with.named = &named{base: r, book: book}
	with.Store = &namedStore{r.Store, with.named}
	return &with
}

// parts returns the names of a PV: the present one first, and then its former names, the latest first. It returns nil if
// the PV has only the name that is given.
func (r *Reader) parts(ctx context.Context, pv string) ([]string, error) {
	if r.named == nil {
		return nil, nil
	}
	return r.named.parts(ctx, pvname.Canonical(pv))
}

func (n *named) parts(ctx context.Context, pv string) ([]string, error) {
	v, err := n.book.View(ctx)
	if err != nil || v.Empty() {
		return nil, err
	}
	target, isAlias := v.Target(pv)
	if !isAlias {
		target = pv
	}
	former := v.Former(target)
	if !isAlias && len(former) == 0 || !n.base.Sees(ctx, pv) || !n.base.Sees(ctx, target) {
		return nil, nil
	}
	list := []string{target}
	for _, old := range former {
		if n.base.Sees(ctx, old) {
			list = append(list, old)
		}
	}
	return list, n.sort(ctx, list[1:])
}

// sort sorts former names by their seams, the latest first. Those without a seam are last.
func (n *named) sort(ctx context.Context, list []string) error {
	if len(list) < 2 {
		return nil
	}
	at := map[string]int64{}
	for _, pv := range list {
		seam, err := n.seam(ctx, pv)
		if err != nil {
			return err
		}
		if seam == noSeam {
			seam = Earliest
		}
		at[pv] = seam
	}
	slices.SortStableFunc(list, func(a, b string) int { return int(min(1, max(-1, at[b]-at[a]))) })
	return nil
}

// seam returns the first time at which this archive was connected to a PV under a name, or noSeam.
func (n *named) seam(ctx context.Context, pv string) (int64, error) {
	return n.seams.seam(ctx, n.base.Store, pv, n.base.now())
}

// read reads the samples of a list of names.
func (n *named) read(ctx context.Context, list []string, from, to int64, opts Options) (*Samples, error) {
	if len(list) == 1 {
		return n.base.Read(ctx, list[0], from, to, opts)
	}
	opts.reuse = false // the names are read at the same time
	own, failed := n.base.Read(ctx, list[0], from, to, opts)
	if failed != nil && !errors.Is(failed, ErrUnknownPV) {
		return nil, failed
	}
	seam, err := n.seam(ctx, list[0])
	if err != nil {
		return nil, err
	}
	from, to = max(from, Earliest), min(to, Latest)
	switch {
	case failed != nil:
	case from > to:
		return own, nil
	case !needsOutside(seam, from, opts) && (opts.Inside || !own.deleted.Overlaps(seam, from)):
		return n.withLast(ctx, list, own, from, seam, opts), nil
	} // if samples since the seam are deleted, the last one before the range may be that of a former name
	last := min(to, seam-1)
	older, err := n.read(ctx, list[1:], min(from, last), last, opts)
	switch unknown := errors.Is(err, ErrUnknownPV); {
	case err != nil && !unknown:
		return nil, err
	case unknown:
		return own, failed
	case failed != nil:
		return older, nil
	}
	return &Samples{CompleteUntil: min(own.CompleteUntil, older.CompleteUntil), All: func(yield func(*sample.Run, error) bool) {
		unite(own.All, older.All, from, opts.Inside, yield)
	}}, nil
}

// withLast returns samples of the first name of a list, from long after its seam. If none is at or before the beginning of the
// range, because the PV got no value for long after it was connected, the last sample of the former names comes first.
func (n *named) withLast(ctx context.Context, list []string, own *Samples, from, seam int64, opts Options) *Samples {
	if opts.Inside {
		return own
	}
	return &Samples{own.CompleteUntil, func(yield func(*sample.Run, error) bool) {
		begun := false
		for run, err := range own.All {
			if !begun && err == nil && run.Times[0] > from && !n.yieldLast(ctx, list, seam, opts, yield) {
				return
			}
			begun = true
			if !yield(run, err) || err != nil {
				return
			}
		}
		if !begun {
			n.yieldLast(ctx, list, seam, opts, yield)
		}
	}, own.deleted}
}

// yieldLast yields the last sample of the former names in a list before the seam. It yields nothing if samples since then have
// expired, because one of these may have been the last one. It returns false after an error, or if yield does.
func (n *named) yieldLast(ctx context.Context, list []string, seam int64, opts Options, yield func(*sample.Run, error) bool) bool {
	whole, err := n.isWholeSince(ctx, list[0], seam)
	if err == nil && !whole {
		return true
	}
	var older *Samples
	if err == nil {
		older, err = n.read(ctx, list[1:], seam-1, seam-1, opts)
	}
	switch {
	case errors.Is(err, ErrUnknownPV):
		return true
	case err != nil:
		yield(nil, err)
		return false
	}
	for run, err := range older.All {
		if !yield(run, err) || err != nil {
			return false
		}
	}
	return true
}

// isWholeSince reports whether no sample of a name since a time has expired or was deleted to make room.
func (n *named) isWholeSince(ctx context.Context, pv string, since int64) (bool, error) {
	ch, _, err := n.base.Store.Channel(ctx, pv)
	if err != nil || scan.WholeSince(ch.Starts, n.base.now()) > since {
		return false, err
	}
	c, found, err := n.base.Store.Cutoff(ctx)
	return err == nil && (!found || c.Before <= since), err
}

// count counts the samples of a list of names.
func (n *named) count(ctx context.Context, list []string, from, to int64, lost *Losses) (c Count, err error) {
	seam := int64(Earliest)
	if len(list) > 1 {
		if seam, err = n.seam(ctx, list[0]); err != nil {
			return c, err
		}
	}
	if seam <= from {
		return n.base.Count(ctx, list[0], from, to, lost)
	}
	last := min(to, seam-1)
	early, _, err := n.earlySamples(ctx, list[0], from, last)
	if err != nil {
		return c, err
	}
	c = Count{CompleteUntil: Latest, Stored: true}
	if len(early) > 0 {
		err = c.addAll(n.read(ctx, list, from, last, Options{Inside: true, Lost: lost}))
	} else if c, err = n.count(ctx, list[1:], from, last, lost); errors.Is(err, ErrUnknownPV) {
		c, err = Count{CompleteUntil: Latest, Stored: true}, nil
	}
	if err != nil || !c.Stored || seam > to {
		return c, err
	}
	own, err := n.base.Count(ctx, list[0], seam, to, lost)
	return Count{CompleteUntil: min(c.CompleteUntil, own.CompleteUntil), Stored: own.Stored, N: c.N + own.N}, err
}

// maxEarly is the maximum number of samples of a name from before its seam that are looked at one by one.
const maxEarly = 64

// earlySamples returns the times of the samples of a name in a range before its seam. more means that there are too many.
func (n *named) earlySamples(ctx context.Context, pv string, from, to int64) (times []int64, more bool, err error) {
	read, err := n.base.Read(ctx, pv, from, to, Options{Inside: true, Lost: &Losses{}})
	if errors.Is(err, ErrUnknownPV) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	for run, err := range read.All {
		if err != nil {
			return nil, false, err
		}
		if times = append(times, run.Times...); len(times) > maxEarly {
			return times, true, nil
		}
	}
	return times, false, nil
}

// anyOf reports whether one of the names has a property.
func anyOf(list []string, err error, has func(name string) (bool, error)) (bool, error) {
	for _, name := range list {
		if err != nil {
			break
		}
		var is bool
		if is, err = has(name); is && err == nil {
			return true, nil
		}
	}
	return false, err
}

// typeOf returns the type of the latest name that has one.
func (n *named) typeOf(ctx context.Context, list []string, err error) (sample.Type, error) {
	for _, name := range list {
		if err != nil {
			break
		}
		var t sample.Type
		if t, err = n.base.Type(ctx, name); t.Valid() {
			return t, err
		}
	}
	return sample.Unknown, err
}

// types returns the types of all names, the oldest first.
func (n *named) types(ctx context.Context, list []string, from int64, err error) (types []sample.Type, _ error) {
	for _, name := range list {
		if err != nil {
			return nil, err
		}
		var of []sample.Type
		if of, err = n.base.Types(ctx, name, from); err != nil {
			return nil, err
		}
		types = slices.DeleteFunc(append(of, types...), func(t sample.Type) bool { return !t.Valid() })
	}
	slices.Reverse(types) // the last one of each type stays
	var out []sample.Type
	for _, t := range types {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	slices.Reverse(out)
	return out, nil
}

// metadata returns the metadata of a list of names at a time.
func (n *named) metadata(ctx context.Context, list []string, at int64, err error) (sample.Metadata, bool, error) {
	if err != nil {
		return sample.Metadata{}, false, err
	}
	m, found, err := n.metadataAt(ctx, list, at)
	if found || err != nil {
		return m.Metadata, found, err
	}
	return n.base.Metadata(ctx, list[0], at) // the older archive may have some
}

// expiredUntil returns the time before which raw samples of a list of names have expired: see Reader.ExpiredUntil.
func (n *named) expiredUntil(ctx context.Context, list []string, err error) (int64, error) {
	if err != nil {
		return Earliest, err
	}
	own, err := n.base.ExpiredUntil(ctx, list[0])
	if err != nil || len(list) == 1 {
		return own, err
	}
	seam, err := n.seam(ctx, list[0])
	if err != nil || own >= seam {
		return own, err
	}
	older, err := n.expiredUntil(ctx, list[1:], nil)
	return max(own, min(older, seam)), err
}

// throughSeam returns the latest seam to the older archive.
func (n *named) throughSeam(ctx context.Context, list []string, err error) (int64, error) {
	latest := int64(Earliest)
	for _, name := range list {
		var seam int64
		if err == nil {
			seam, err = n.base.Seam(ctx, name)
		}
		if err != nil {
			return Earliest, err
		}
		latest = max(latest, seam)
	}
	return latest, nil
}

// addNamed adds the aliases that match, and the PVs of which a former name matches.
func (r *Reader) addNamed(ctx context.Context, found *namesFound, p nameindex.Pattern) error {
	if r.named == nil {
		return nil
	}
	v, err := r.named.book.View(ctx)
	if err != nil {
		return err
	}
	for f := range v.All() {
		if ctx.Err() != nil { // match may be slow
			return ctx.Err()
		}
		if !r.Sees(ctx, f.PV) {
			continue
		}
		for _, alias := range f.Aliases {
			if pv, _ := v.Target(alias); pv == f.PV && r.Sees(ctx, alias) && p.Matches(alias) {
				found.add(alias)
			}
		}
		if f.PV > p.After && slices.ContainsFunc(v.Former(f.PV), func(old string) bool { return r.Sees(ctx, old) && p.MatchesAny(old) }) {
			found.add(f.PV)
		}
	}
	return nil
}

// OtherNames returns the former names of a PV, the latest first, and its aliases, as far as the sender of the request may
// know them. PV is the PV that has the name: it differs from the name if that is an alias.
func (r *Reader) OtherNames(ctx context.Context, name string) (f names.Fact, err error) {
	f.PV = pvname.Canonical(name)
	if r.named == nil {
		return f, nil
	}
	v, err := r.named.book.View(ctx)
	if err != nil || v.Empty() {
		return f, err
	}
	list, err := r.parts(ctx, name)
	if err != nil {
		return f, err
	}
	if len(list) > 0 {
		f.PV, f.Former = list[0], list[1:]
	}
	for _, alias := range v.Of(f.PV).Aliases {
		if r.Sees(ctx, f.PV) && r.Sees(ctx, alias) {
			f.Aliases = append(f.Aliases, alias)
		}
	}
	return f, nil
}

// DeletedAt returns the deleted range of a PV that has a time, in ns since 1970, if there is one. Before the PV was renamed, the ranges of
// its former name count.
func (r *Reader) DeletedAt(ctx context.Context, pv string, at int64) (d store.Deleted, is bool, err error) {
	pv = pvname.Canonical(pv)
	list, err := r.parts(ctx, pv)
	if err != nil {
		return d, false, err
	}
	from := r.Store
	if list != nil {
		periods, err := r.named.periods(ctx, list)
		if err != nil {
			return d, false, err
		}
		i := slices.IndexFunc(periods, func(p period) bool { return p.from <= at && at <= p.to })
		if i < 0 {
			return d, false, nil
		}
		pv, from = periods[i].name, r.named.base.Store
	}
	ch, _, err := from.Channel(ctx, pv)
	for _, d := range ch.Mask() {
		if d.From <= at && at <= d.To {
			return d, true, nil
		}
	}
	return d, false, err
}

// LaterNames returns the PVs that had a name before, sorted, as far as the sender of the request may know them.
func (r *Reader) LaterNames(ctx context.Context, name string) (pvs []string, err error) {
	if r.named == nil || !r.Sees(ctx, name) {
		return nil, nil
	}
	v, err := r.named.book.View(ctx)
	if err != nil {
		return nil, err
	}
	for _, pv := range v.Later(pvname.Canonical(name)) {
		if r.Sees(ctx, pv) {
			pvs = append(pvs, pv)
		}
	}
	return pvs, nil
}

// Alias is an alias and its PV.
type Alias struct{ Alias, PV string }

// Aliases yields the aliases of all PVs that the sender of the request may know, in no particular order.
func (r *Reader) Aliases(ctx context.Context) iter.Seq2[Alias, error] {
	return func(yield func(Alias, error) bool) {
		if r.named == nil {
			return
		}
		v, err := r.named.book.View(ctx)
		if err != nil {
			yield(Alias{}, err)
			return
		}
		for f := range v.All() {
			for _, alias := range f.Aliases {
				if pv, _ := v.Target(alias); pv == f.PV && r.Sees(ctx, alias) && r.Sees(ctx, pv) && !yield(Alias{alias, pv}, nil) {
					return
				}
			}
		}
	}
}

// merged returns the directory entry of a list of names.
func (n *named) merged(ctx context.Context, list []string) (all store.Channel, found bool, err error) {
	for _, name := range slices.Backward(list) {
		ch, is, err := n.base.Store.Channel(ctx, name)
		if err != nil {
			return all, false, err
		}
		found = found || is
		all.Shards, all.Starts = append(all.Shards, ch.Shards...), append(all.Starts, ch.Starts...)
		all.Types, all.Levels = append(all.Types, ch.Types...), append(all.Levels, ch.Levels...)
	}
	slices.Sort(all.Shards)
	slices.Sort(all.Levels)
	all.Shards, all.Levels = slices.Compact(all.Shards), slices.Compact(all.Levels)
	return all, found, nil
}
