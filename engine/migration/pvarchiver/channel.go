package pvarchiver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/migration"
	"varve.dev/varve/engine/sample"
)

const (
	// batchBytes is the size in bytes of the samples that are passed on together.
	batchBytes = 16 << 20
	// pageBytes is the intended size of a page of rows, and firstPage, fewest and most are numbers of rows of a page.
	pageBytes               = 4 << 20
	firstPage, fewest, most = 100, 10, 5000
	// maxBuckets is how many sample buckets a channel may have. Each has about 100 MB.
	maxBuckets = 1 << 20
)

// reader reads the samples of a channel.
type reader struct {
	*Source
	channel      channel
	since, until int64
	to           migration.Sink
	page         int // number of rows of a page
	runs         map[sample.Type]*sample.Run
	count, size  int  // of samples since the last batch, and of their bytes
	rows, bytes  int  // that were read, for the size of a page
	off          bool // the last row was a mark
}

// bucket is a sample bucket.
type bucket struct{ start, end int64 }

func (r *reader) read(ctx context.Context) error {
	r.runs = map[sample.Type]*sample.Run{}
	buckets, err := r.buckets(ctx)
	if err != nil {
		return err
	}
	if err := r.describe(ctx, buckets); err != nil {
		return err
	}
	for _, b := range buckets {
		if b.start >= r.until || b.end < r.since {
			continue
		}
		if err := r.bucket(ctx, b); err != nil {
			return fmt.Errorf("bucket %d: %w", b.start, err)
		}
	}
	return r.flush(ctx)
}

// buckets returns the buckets with raw samples, by time. It notes if samples of other decimation levels are older.
func (r *reader) buckets(ctx context.Context) (out []bucket, err error) {
	reduced := int64(0)
	rows := r.session.Query("SELECT decimation_level, bucket_start_time, bucket_end_time FROM channels WHERE channel_name = ?", r.channel.name).IterContext(ctx)
	var level *int
	var start, end *int64
	for rows.Scan(&level, &start, &end) {
		switch {
		case level == nil || start == nil: // the channel has no bucket
		case *level != 0:
			if reduced == 0 || *start < reduced {
				reduced = *start
			}
		case end == nil || *end < *start:
			r.to.Problem("table channels", 0, fmt.Errorf("%s: the bucket that starts at %d has no end after its start", r.channel.name, *start))
		default:
			out = append(out, bucket{*start, *end})
		}
		if level, start, end = nil, nil, nil; len(out) > maxBuckets {
			return nil, errors.Join(fmt.Errorf("the channel has more than %d sample buckets", maxBuckets), rows.Close())
		}
	}
	if err := rows.Close(); err != nil {
		return nil, fmt.Errorf("reading the table channels: %w", err)
	}
	if reduced > 0 && (len(out) == 0 || reduced < out[0].start) {
		r.to.Note(fmt.Sprintf("not imported: samples of decimation levels from %s on, for which the archiver no longer has raw samples", time.Unix(0, reduced).UTC().Format(time.RFC3339)))
	}
	return out, nil
}

// query returns the rows of a bucket between two times.
func query(order string) string {
	names := make([]string, len(forms))
	for i, f := range forms {
		names[i] = f.column
	}
	return "SELECT sample_time, disabled, disconnected, " + strings.Join(names, ", ") + " FROM " + samples +
		" WHERE channel_data_id = ? AND decimation_level = 0 AND bucket_start_time = ? AND sample_time >= ? AND sample_time <= ?" + order
}

// rowOf is a row of the table.
type rowOf struct {
	at                     int64
	disabled, disconnected bool
	values                 []value
	targets                []any // where Scan puts the columns of query
}

// newRow returns a row that can be read again and again. With described, it also gets what describes the PV.
func newRow(described bool) *rowOf {
	x := &rowOf{values: make([]value, len(forms))}
	x.targets = []any{&x.at, &x.disabled, &x.disconnected}
	for i := range x.values {
		x.values[i].described = described
		x.targets = append(x.targets, &x.values[i])
	}
	return x
}

// scan reads the next row.
func (x *rowOf) scan(rows *gocql.Iter) bool {
	x.at, x.disabled, x.disconnected = 0, false, false
	for i := range x.values {
		v := &x.values[i]
		v.set, v.value, v.severity, v.status = false, nil, v.severity[:0], v.status[:0]
	}
	return rows.Scan(x.targets...)
}

// describe passes on the metadata of the latest sample.
func (r *reader) describe(ctx context.Context, buckets []bucket) error {
	for i := len(buckets) - 1; i >= 0; i-- {
		b := buckets[i]
		rows := r.session.Query(query(" ORDER BY sample_time DESC LIMIT 20"), r.channel.id, b.start, b.start, b.end).IterContext(ctx)
		x, found := newRow(true), false
		for !found && x.scan(rows) {
			for i := range x.values {
				if v := &x.values[i]; v.set && !found {
					r.to.Metadata(v.metadata(forms[i].kind))
					found = true
				}
			}
		}
		if err := rows.Close(); err != nil {
			return fmt.Errorf("reading the table %s: %w", samples, err)
		}
		if found {
			return nil
		}
	}
	return nil
}

// bucket reads the samples of a bucket. Samples that do not belong into it are not read, as in the archiver.
func (r *reader) bucket(ctx context.Context, b bucket) error {
	from, to := max(b.start, r.since), min(b.end, r.until-1)
	rows := r.session.Query(query(" ORDER BY sample_time ASC"), r.channel.id, b.start, from, to).PageSize(r.page).IterContext(ctx)
	x := newRow(false)
	for x.scan(rows) {
		if err := r.row(x); err != nil {
			r.to.Problem("table "+samples, 0, fmt.Errorf("%s: %w", r.channel.place(b.start, x.at), err))
		}
		if r.count >= migration.Batch || r.size >= batchBytes {
			if err := r.flush(ctx); err != nil {
				return errors.Join(err, rows.Close())
			}
		}
	}
	if err := rows.Close(); err != nil {
		return fmt.Errorf("reading the table %s: %w", samples, err)
	}
	if r.rows > 0 {
		r.page = min(max(pageBytes/(r.bytes/r.rows+64), fewest), most)
	}
	return nil
}

// row passes on what a row has: one value, or a mark.
func (r *reader) row(x *rowOf) error {
	var only *value
	var f *form
	for i := range x.values {
		if !x.values[i].set {
			continue
		}
		if only != nil {
			return fmt.Errorf("the row has a value in %s and in %s", f.column, forms[i].column)
		}
		only, f = &x.values[i], &forms[i]
	}
	r.rows++
	switch {
	case x.at < 0:
		return errors.New("the time is before 1970")
	case only != nil && (x.disabled || x.disconnected):
		return errors.New("the row has a value although the channel was disabled or disconnected")
	case x.disabled:
		r.mark(x.at, sample.Paused)
	case x.disconnected:
		r.mark(x.at, sample.Disconnected)
	case only == nil:
		return errors.New("the row has no value")
	default:
		s, err := only.decode(f, x.at)
		if err != nil {
			return fmt.Errorf("column %s: %w", f.column, err)
		}
		r.append(f.kind, &s)
	}
	return nil
}

// mark passes on a mark.
func (r *reader) mark(at int64, kind sample.MarkKind) {
	r.off = kind != sample.Connected
	r.to.Mark(sample.Mark{Time: at, Kind: kind, Text: "recorded by the Cassandra PV Archiver"})
	r.count++
}

func (r *reader) append(t sample.Type, s *sample.Sample) {
	if r.off { // a value after a time without one
		r.mark(s.Time, sample.Connected)
	}
	run := r.runs[t]
	if run == nil {
		run = &sample.Run{Type: t}
		r.runs[t] = run
	}
	run.Append(s)
	r.count++
	r.size += len(s.Bytes)
	r.bytes += len(s.Bytes)
}

// flush passes on the samples.
func (r *reader) flush(ctx context.Context) error {
	for _, run := range r.runs {
		if err := r.to.Samples(ctx, run); err != nil {
			return err
		}
	}
	clear(r.runs)
	r.count, r.size = 0, 0
	if err := r.to.Samples(ctx, &sample.Run{}); err != nil { // stores the marks
		return err
	}
	return ctx.Err()
}
