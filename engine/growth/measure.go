package growth

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/store"
)

// Store is the part of a store that Measure reads.
type Store interface {
	Channel(ctx context.Context, pv string) (c store.Channel, found bool, err error)
	Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error]
	Rollups(ctx context.Context, pv string, l store.Level, first, last store.Tile) iter.Seq2[store.Rollup, error]
}

// Bounds of what is read of a PV.
const (
	// window is how far back blocks and tiles are read, and shortWindow how far if there are many bytes, or if
	// buckets are as short as an hour.
	window      = 30 * day
	shortWindow = day
	// enough is the number of bytes in shortWindow above which the rest of window is not read, and most is the
	// number of bytes after which reading ends.
	enough = 256 << 10
	most   = 8 << 20
	// mostTiles is the number of tiles of a level that are read.
	mostTiles = 256
	// mostEmpty is the number of empty buckets in which the first block of a PV is searched.
	mostEmpty = 4
)

// Shortest is the shortest time from which rates are computed.
const Shortest = 10 * time.Minute

// Measured is what a PV adds to an archive.
type Measured struct {
	// From and To are the time span whose samples were measured, in ns since 1970. The PV is not measured if they are
	// equal.
	From, To int64
	// Samples and Bytes are the samples in the span, and the size of their blocks.
	Samples, Bytes float64
	// Since is the time of the oldest stored sample.
	Since int64
	// Streams are the samples and each level of rollups.
	Streams []Stream
}

// Span returns the length of the measured time.
func (m *Measured) Span() time.Duration { return time.Duration(m.To - m.From) }

// PerSecond returns the number of stored samples per second.
func (m *Measured) PerSecond() float64 {
	if m.To <= m.From {
		return 0
	}
	return m.Samples / m.Span().Seconds()
}

// Measure reads the latest blocks and tiles of a PV. now is in ns since 1970. The samples of the time unsealed before now
// may not be in blocks yet.
func Measure(ctx context.Context, st Store, pv string, now int64, unsealed time.Duration) (Measured, error) {
	p := prober{st: st, pv: pv, now: now, unsealed: int64(unsealed)}
	entry, found, err := st.Channel(ctx, pv)
	if err != nil || !found {
		return Measured{}, err
	}
	p.born = now
	for _, b := range entry.Starts {
		p.born = min(p.born, b.Start())
	}
	for b := range store.InUse(entry.Starts, now, now) {
		p.buckets = append(p.buckets, b)
	}
	if len(p.buckets) == 0 {
		return Measured{}, nil
	}
	if err := p.findFirst(ctx); err != nil {
		return Measured{}, fmt.Errorf("measuring %s: %w", pv, err)
	}
	if err := p.samples(ctx); err != nil {
		return Measured{}, fmt.Errorf("measuring the samples of %s: %w", pv, err)
	}
	for _, l := range entry.Levels {
		if !l.Valid() || p.out.To == p.out.From {
			continue
		}
		if err := p.rollups(ctx, l); err != nil {
			return Measured{}, fmt.Errorf("measuring the rollups of %s: %w", pv, err)
		}
	}
	return p.out, nil
}

// prober is one run of Measure.
type prober struct {
	st            Store
	pv            string
	now, unsealed int64
	born          int64 // about the time of the PV's first sample ever
	buckets       []store.Bucket
	out           Measured
}

// findFirst finds the oldest stored sample.
func (p *prober) findFirst(ctx context.Context) error {
	p.out.Since = math.MaxInt64
	tried := map[store.Tier]int{}
	done := map[store.Tier]bool{}
	for _, b := range p.buckets {
		if done[b.Tier()] {
			continue
		}
		if tried[b.Tier()]++; tried[b.Tier()] > mostEmpty {
			p.out.Since, done[b.Tier()] = min(p.out.Since, b.Start()), true
			continue
		}
		for blk, err := range p.st.Blocks(ctx, p.pv, b, math.MinInt64, math.MaxInt64) {
			if err != nil {
				return err
			}
			if blk.Count > 0 {
				p.out.Since, done[b.Tier()] = min(p.out.Since, max(blk.Start, b.Start())), true
			}
			break
		}
	}
	return nil
}

// samples measures the blocks. It chooses the longest window with a bounded number of bytes.
func (p *prober) samples(ctx context.Context) error {
	var last *found
	for _, w := range []time.Duration{shortWindow, window} {
		f, err := p.read(ctx, w)
		if err != nil {
			return err
		}
		last = f
		if f.bytes > enough || f.hours && f.bytes > 0 {
			break
		}
	}
	from := max(p.now-int64(last.window), p.out.Since)
	if p.out.Since == math.MaxInt64 || last.until-from < int64(Shortest) || last.samples == 0 {
		return nil
	}
	p.out.From, p.out.To, p.out.Samples, p.out.Bytes = from, last.until, last.samples, last.bytes
	perDay := last.bytes / inDays(time.Duration(last.until-from))
	p.add(Stream{Contents: store.SampleContents, Tier: last.bucket.Tier(), PerDay: perDay, Slack: last.bucket.Size().Span() / 2}, p.out.Since)
	return nil
}

// add adds a stream. Its size is as if the PV had always behaved like this.
func (p *prober) add(s Stream, since int64) {
	s.Age = time.Duration(max(0, p.now-since))
	kept, forever := s.Kept()
	if !forever {
		s.Age = min(s.Age, kept)
	}
	s.Bytes = s.PerDay * inDays(s.Age)
	p.out.Streams = append(p.out.Streams, s)
}

// found are the blocks in a window.
type found struct {
	window         time.Duration
	samples, bytes float64
	until          int64        // how far they were read
	bucket         store.Bucket // of the latest block
	hours          bool         // buckets are as short as an hour
}

// read reads the blocks in a window before now.
func (p *prober) read(ctx context.Context, w time.Duration) (*found, error) {
	f := &found{window: w, until: p.now}
	from := p.now - int64(w)
	latest := int64(math.MinInt64)
	for _, b := range p.buckets {
		if b.End() <= from || b.Start() > p.now {
			continue
		}
		f.hours = f.hours || b.Size() == store.Hour
		for blk, err := range p.st.Blocks(ctx, p.pv, b, from, p.now) {
			if err != nil {
				return nil, err
			}
			share := 1.0
			if start := max(from, b.Start()); blk.Start < start && blk.End > blk.Start {
				share = float64(blk.End-start) / float64(blk.End-blk.Start)
			}
			f.samples += share * float64(blk.Count)
			f.bytes += share * float64(len(blk.Blob))
			if blk.Count > 0 && blk.End > latest {
				latest, f.bucket = blk.End, b
			}
			if f.bytes > most {
				f.until = blk.End
				return f, nil
			}
		}
	}
	if latest >= p.now-p.unsealed {
		f.until = latest
	}
	return f, nil
}

// rollups measures the tiles of a level. They may be older than the samples.
func (p *prober) rollups(ctx context.Context, l store.Level) error {
	since, err := p.oldestTile(ctx, l)
	if err != nil || since == math.MaxInt64 {
		return err
	}
	span := int64(l.Every()) * store.TileBins
	from := max(since, p.now-int64(window), p.now-mostTiles*span)
	var whole, part struct{ bytes, time float64 }
	through := int64(math.MinInt64)
	var t rollup.Tile
	for row, err := range p.st.Rollups(ctx, p.pv, l, l.Tile(from), l.Tile(p.now)) {
		if err != nil {
			return err
		}
		if err := rollup.Decode(&t, &row); err != nil {
			continue // varve store check reports it
		}
		through = max(through, t.Through)
		begin := max(t.Start(), t.Since, since)
		of := &part
		if begin == t.Start() && t.Through == t.End() {
			of = &whole
		}
		of.bytes, of.time = of.bytes+float64(len(row.Blob)), of.time+float64(t.Through-begin)
		if whole.bytes > most {
			break
		}
	}
	if through < p.now-2*span-int64(day) {
		return nil // the PV no longer has the level
	}
	if whole.time == 0 { // a tile that is not full has a larger part of its header
		whole = part
	}
	if whole.time <= 0 {
		return nil
	}
	perDay := whole.bytes / whole.time * float64(day)
	p.add(Stream{Contents: store.RollupContents, Tier: l.Tier(), PerDay: perDay, Slack: time.Duration(span) / 2}, since)
	return nil
}

// oldestTile returns the time from which the tiles of a level are stored, or math.MaxInt64 if there is none.
func (p *prober) oldestTile(ctx context.Context, l store.Level) (int64, error) {
	from := p.born
	if keep := l.Tier().Keep(); keep > 0 {
		from = max(from, p.now-int64(keep)-int64(l.Every())*store.TileBins)
	}
	for row, err := range p.st.Rollups(ctx, p.pv, l, l.Tile(from), l.Tile(p.now)) {
		if err != nil {
			return 0, err
		}
		var t rollup.Tile
		if err := rollup.Decode(&t, &row); err != nil {
			continue
		}
		if len(t.Bins) > 0 { // a new PV had no samples before
			return max(t.Start(), t.Bins[0].Start), nil
		}
		return max(t.Start(), min(t.Since, t.Through)), nil
	}
	return math.MaxInt64, nil
}
