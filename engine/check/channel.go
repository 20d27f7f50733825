package check

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// ahead is how far in the future blocks are looked for: clocks of IOCs differ.
const ahead = 24 * time.Hour

// channel looks at everything that is stored of a PV but its journal rows.
func (l *look) channel() {
	l.seen.PVs++
	l.held = map[store.Bucket]struct{}{}
	listed := l.directory()
	for b := range l.buckets() {
		if !valid(b) {
			l.found(WrongBucket, fmt.Sprintf("bucket %d", b), "it has size %d and tier %d, which this program does not know", b.Size(), b.Tier())
			continue
		}
		for blk := range l.blocks(b) {
			l.held[b] = struct{}{}
			l.block(&blk)
		}
		l.expired(b)
		if l.ctx.Err() != nil {
			return
		}
	}
	l.completeDirectory(listed)
	l.overlaps()
	l.checkCarriedForward()
	l.marks()
	l.metadata()
}

// directory reads the entry of the PV, and checks what it says.
func (l *look) directory() (listed bool) {
	const where = "directory"
	one := func() iter.Seq2[store.Channel, error] {
		return func(yield func(store.Channel, error) bool) {
			if ch, found, err := l.store.Channel(l.ctx, l.pv); found || err != nil {
				yield(ch, err)
			}
		}
	}
	l.dir.PV = l.pv
	for ch := range once(l, where, one) {
		l.dir, listed = ch, true
	}
	for _, s := range l.dir.Shards {
		if s < 0 || s >= 2*l.opts.Shards {
			l.found(WrongDirectory, where, "shard %d is listed, of %d", s, 2*l.opts.Shards)
		}
	}
	l.dir.Starts = slices.DeleteFunc(slices.Clone(l.dir.Starts), func(b store.Bucket) bool {
		if !valid(b) {
			l.found(WrongDirectory, where, "bucket %d is listed, which has size %d and tier %d", b, b.Size(), b.Tier())
		}
		return !valid(b)
	})
	for _, t := range l.dir.Types {
		if !t.Valid() {
			l.found(WrongDirectory, where, "type %d is listed", t)
		}
	}
	return listed
}

// buckets yields the buckets to look into: those that hold blocks, or that may hold
// some, as far as the store can tell.
func (l *look) buckets() iter.Seq[store.Bucket] {
	if lister, ok := l.store.(Lister); ok {
		return once(l, "list of buckets", func() iter.Seq2[store.Bucket, error] { return lister.Buckets(l.ctx, l.pv) })
	}
	return func(yield func(store.Bucket) bool) {
		starts := slices.Sorted(slices.Values(l.dir.Starts))
		for i, b := range starts {
			if i > 0 && starts[i-1].Span() == b.Span() {
				continue
			}
			for last := b.Span().Last(); b <= last && b.Start() <= l.now+int64(ahead); b = b.Next() {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// valid reports whether a bucket is one that this program knows.
func valid(b store.Bucket) bool { return b.Size().Valid() && b.Tier().Valid() }

// allowed reports whether the directory says that a bucket may hold blocks.
func allowed(starts []store.Bucket, b store.Bucket) bool {
	return slices.ContainsFunc(starts, func(s store.Bucket) bool { return s.Span() == b.Span() && s <= b })
}

// list notes what the directory lacks of a bucket that holds samples of a type.
func (l *look) list(b store.Bucket, t sample.Type) {
	if !allowed(l.dir.Starts, b) && !allowed(l.unlisted.Starts, b) {
		l.unlisted.Starts = append(l.unlisted.Starts, b)
	}
	if !slices.Contains(l.dir.Types, t) && !slices.Contains(l.unlisted.Types, t) {
		l.unlisted.Types = append(l.unlisted.Types, t)
	}
}

// completeDirectory tells what the directory lacks, and adds it if that is asked for.
func (l *look) completeDirectory(listed bool) {
	lacks := l.unlisted
	if len(lacks.Starts)+len(lacks.Types) == 0 {
		return
	}
	report := l.found
	if l.opts.Repair && l.last {
		lacks.PV = l.pv
		if err := l.store.AddChannel(l.ctx, lacks); err != nil {
			l.found(Unlisted, "directory", "it could not be completed: %v", err)
			return
		}
		report = l.repaired
	}
	if !listed {
		report(Unlisted, "directory", "the PV has no entry, and blocks in %d buckets, of types %v", len(l.held), lacks.Types)
		return
	}
	for _, b := range lacks.Starts {
		report(Unlisted, bucketName(b), "it holds blocks, and readers do not know of it")
	}
	if len(lacks.Types) > 0 {
		report(Unlisted, "directory", "types %v are not listed, and blocks have them", lacks.Types)
	}
}

// expired tells of blocks that are still there after their time.
func (l *look) expired(b store.Bucket) {
	at, ever := b.Expires()
	if _, held := l.held[b]; held && ever && at < l.now {
		l.found(Expired, bucketName(b), "its blocks may go since %s", stamp(at))
	}
}

func (l *look) marks() {
	for m := range once(l, "marks", func() iter.Seq2[store.PVMark, error] { return l.store.Marks(l.ctx, l.pv, minTime, maxTime) }) {
		l.seen.Marks++
		if m.Kind < sample.Connected || m.Kind > sample.Died || int(m.Reason) >= sample.NumReasons {
			l.found(WrongMark, "mark at "+stamp(m.Time), "kind %d, reason %d", m.Kind, m.Reason)
		}
	}
}

func (l *look) metadata() {
	read := func() iter.Seq2[store.PVMetadata, error] { return l.store.Metadata(l.ctx, l.pv, minTime, maxTime) }
	for m := range once(l, "metadata", read) {
		l.seen.Metadata++
		if m.Type != sample.Unknown && !m.Type.Valid() || m.Count < 0 {
			l.found(WrongMetadata, "metadata from "+stamp(m.Time), "type %d, %d elements", m.Type, m.Count)
		}
	}
}

// bucketName names a bucket for people.
func bucketName(b store.Bucket) string {
	return fmt.Sprintf("%v bucket %s, kept %v", b.Size(), stamp(b.Start()), b.Tier())
}

// stamp shows a time in ns since 1970.
func stamp(t int64) string { return time.Unix(0, t).UTC().Format(time.RFC3339Nano) }
