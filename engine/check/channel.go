package check

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// ahead is how far into the future the check reads blocks, because clocks of IOCs differ.
const ahead = 24 * time.Hour

// channel checks all rows of a PV except its journal rows.
func (l *pass) channel() {
	l.seen.PVs++
	l.held = map[store.Bucket]struct{}{}
	listed := l.directory()
	for b := range l.buckets() {
		if !valid(b) {
			l.found(WrongBucket, fmt.Sprintf("bucket %d", b), "its size %d and tier %d are unknown to this program", b.Size(), b.Tier())
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

// directory reads and checks the directory entry of the PV.
func (l *pass) directory() (listed bool) {
	const where = "directory"
	one := func() iter.Seq2[store.Channel, error] {
		return func(yield func(store.Channel, error) bool) {
			if ch, found, err := l.store.Channel(l.ctx, l.pv); found || err != nil {
				yield(ch, err)
			}
		}
	}
	l.dir.PV = l.pv
	for ch := range readWhole(l, where, one) {
		l.dir, listed = ch, true
	}
	l.elements()
	for _, s := range l.dir.Shards {
		if s < 0 || s >= 2*l.opts.Shards {
			l.found(WrongDirectory, where, "it lists shard %d, and the archive has %d shards", s, 2*l.opts.Shards)
		}
	}
	l.dir.Starts = slices.DeleteFunc(slices.Clone(l.dir.Starts), func(b store.Bucket) bool {
		if !valid(b) {
			l.found(WrongDirectory, where, "it lists bucket %d, whose size %d and tier %d are unknown to this program", b, b.Size(), b.Tier())
		}
		return !valid(b)
	})
	for _, t := range l.dir.Types {
		if !t.Valid() {
			l.found(WrongDirectory, where, "it lists type %d, which is unknown to this program", t)
		}
	}
	return listed
}

// elements checks whether the elements of the directory entry can be read, and the deleted ranges among them.
func (l *pass) elements() {
	const where = "directory"
	for _, d := range l.dir.Deleted {
		if d.From > d.To || d.To > l.now+int64(ahead) {
			l.found(WrongDirectory, where, "it has a deleted range from %s to %s, and only ranges in the past can be deleted; everybody goes on without it",
				stamp(d.From), stamp(d.To))
		}
	}
	if l.dir.Damaged == 0 {
		return
	}
	const text = "%d of its elements cannot be read, so deleted samples may be visible again: delete them again"
	mender, ok := l.store.(Mender)
	if !ok || !l.opts.Repair || !l.last {
		l.found(WrongDirectory, where, text, l.dir.Damaged)
		return
	}
	if err := mender.DropDamaged(l.ctx, l.pv); err != nil {
		l.found(WrongDirectory, where, text+"; they could not be removed: %v", l.dir.Damaged, err)
		return
	}
	l.repaired(WrongDirectory, where, text+"; they were removed", l.dir.Damaged)
}

// buckets yields the buckets to read: those that hold blocks, if the store can list them,
// and otherwise those that may hold blocks.
func (l *pass) buckets() iter.Seq[store.Bucket] {
	if lister, ok := l.store.(Lister); ok {
		return readWhole(l, "list of buckets", func() iter.Seq2[store.Bucket, error] { return lister.Buckets(l.ctx, l.pv) })
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

// allowed reports whether a bucket may hold blocks according to the directory.
func allowed(starts []store.Bucket, b store.Bucket) bool {
	return slices.ContainsFunc(starts, func(s store.Bucket) bool { return s.Span() == b.Span() && s <= b })
}

// noteUnlisted notes what the directory lacks for a bucket with samples of a type.
func (l *pass) noteUnlisted(b store.Bucket, t sample.Type) {
	if !allowed(l.dir.Starts, b) && !allowed(l.unlisted.Starts, b) {
		l.unlisted.Starts = append(l.unlisted.Starts, b)
	}
	if !slices.Contains(l.dir.Types, t) && !slices.Contains(l.unlisted.Types, t) {
		l.unlisted.Types = append(l.unlisted.Types, t)
	}
}

// completeDirectory reports what the directory lacks, and adds it if Options.Repair is set.
func (l *pass) completeDirectory(listed bool) {
	lacks := l.unlisted
	if len(lacks.Starts)+len(lacks.Types) == 0 {
		return
	}
	report := l.found
	if l.opts.Repair && l.last {
		lacks.PV = l.pv
		if err := l.store.AddChannel(l.ctx, lacks); err != nil {
			l.found(Unlisted, "directory", "the entry could not be repaired: %v", err)
			return
		}
		report = l.repaired
	}
	if !listed {
		report(Unlisted, "directory", "the PV has no entry, but blocks in %d buckets, of types %v", len(l.held), lacks.Types)
		return
	}
	for _, b := range lacks.Starts {
		report(Unlisted, bucketName(b), "the directory does not list this bucket, so readers do not find its blocks")
	}
	if len(lacks.Types) > 0 {
		report(Unlisted, "directory", "the entry does not list the types %v of blocks", lacks.Types)
	}
}

// expired reports blocks that still exist after their expiry.
func (l *pass) expired(b store.Bucket) {
	at, ever := b.Expires()
	if _, held := l.held[b]; held && ever && at < l.now {
		l.found(Expired, bucketName(b), "its blocks expired at %s and still exist", stamp(at))
	}
}

func (l *pass) marks() {
	for m := range readWhole(l, "marks", func() iter.Seq2[store.PVMark, error] { return l.store.Marks(l.ctx, l.pv, minTime, maxTime) }) {
		l.seen.Marks++
		if !m.Kind.Valid() || int(m.Reason) >= sample.NumReasons {
			l.found(WrongMark, "mark at "+stamp(m.Time), "its kind %d or reason %d is unknown to this program", m.Kind, m.Reason)
		}
	}
}

func (l *pass) metadata() {
	read := func() iter.Seq2[store.PVMetadata, error] { return l.store.Metadata(l.ctx, l.pv, minTime, maxTime) }
	for m := range readWhole(l, "metadata", read) {
		l.seen.Metadata++
		if m.Type != sample.Unknown && !m.Type.Valid() || m.Count < 0 {
			l.found(WrongMetadata, "metadata from "+stamp(m.Time), "its type %d or its %d elements are invalid", m.Type, m.Count)
		}
	}
}

// bucketName names a bucket in findings.
func bucketName(b store.Bucket) string {
	return fmt.Sprintf("%v bucket %s, kept %v", b.Size(), stamp(b.Start()), b.Tier())
}

// stamp formats a time in ns since 1970.
func stamp(t int64) string { return time.Unix(0, t).UTC().Format(time.RFC3339Nano) }
