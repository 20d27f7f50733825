package rdb

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"varve.dev/varve/engine/migration"
	"varve.dev/varve/engine/sample"
)

// batchBytes is the largest size of the batches of a PV, in bytes of memory.
const batchBytes = 16 << 20

// channelReader reads the samples of a channel.
type channelReader struct {
	*Source
	channel      channel
	since, until int64 // ns since 1970
	to           migration.Sink

	labels []string // nil if the PV is no enumeration
	arrays *arrayCursor
	column timeColumn
	runs   map[sample.Type]*sample.Run // the current batch
	count  int                         // of rows since the last batch
	off    bool                        // the last row was a state without a value
	// unknown counts the rows whose alarm has a text that EPICS base has no number for, by text.
	unknown map[string]uint64
}

// row is a row of the table sample.
type row struct {
	key      key
	at       int64 // ns since 1970
	status   string
	tag      sample.Tag
	num      sql.NullInt64
	float    sql.NullFloat64
	text     sql.NullString
	datatype sql.NullString
	blob     []byte        // not set if it is too long
	size     sql.NullInt64 // of the blob in bytes
}

func (r *channelReader) read(ctx context.Context) error {
	r.runs, r.unknown, r.column = map[sample.Type]*sample.Run{}, map[string]uint64{}, r.sampleTime
	m, err := r.metadata(ctx)
	if err != nil {
		return fmt.Errorf("the metadata: %w", err)
	}
	r.to.Metadata(m)
	r.labels = m.Labels
	if err := r.checkTimes(ctx); err != nil {
		return err
	}
	from, to := r.bounds()
	if r.elements {
		if to, err = r.settled(ctx, to); err != nil {
			return err
		}
		if r.arrays, err = r.openArrays(ctx, from, to); err != nil {
			return fmt.Errorf("the table array_val: %w", err)
		}
		defer r.arrays.close()
	}
	if err := r.readRows(ctx, from, to); err != nil {
		return err
	}
	if err := r.flush(ctx); err != nil {
		return err
	}
	r.noteUnknown()
	return ctx.Err()
}

// limits returns the times that a row may have.
func (d dialect) limits() (from, to time.Time) {
	if d == mySQL { // the range of TIMESTAMP
		return time.Date(1970, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(2038, 1, 19, 3, 14, 7, 0, time.UTC)
	}
	return time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)
}

// checkTimes reports rows that are not read because of their time.
func (r *channelReader) checkTimes(ctx context.Context) error {
	from, to := r.dialect.limits()
	var n int64
	if err := r.db.QueryRowContext(ctx, r.dialect.query("SELECT COUNT(*) FROM sample WHERE channel_id = ? AND (smpl_time < ? OR smpl_time >= ?)"),
		r.channel.id, from, to).Scan(&n); err != nil {
		return fmt.Errorf("the table sample: %w", err)
	}
	if n > 0 {
		r.to.Problem("table sample", 0, fmt.Errorf("channel %d: %d rows have a time before %d or after %d", r.channel.id, n, from.Year(), to.Year()-1))
	}
	return nil
}

// bounds returns the times between which rows are read. They leave room for rounded seconds, and for the
// offset of a zone from UTC.
func (r *channelReader) bounds() (from, to time.Time) {
	const room = 26 * time.Hour
	from, to = r.dialect.limits()
	if since := time.Unix(0, r.since).UTC().Add(-room); r.since != math.MinInt64 && since.After(from) {
		from = since
	}
	if until := time.Unix(0, r.until).UTC().Add(room); r.until != math.MaxInt64 && until.Before(to) {
		to = until
	}
	return from, to
}

// settling is how long an engine may take from the row of an array to its elements, which it commits later.
const settling = 5 * time.Minute

// settled returns the time up to which arrays are complete: settling before the source was opened, or to. It
// reports if there are samples after it.
func (r *channelReader) settled(ctx context.Context, to time.Time) (time.Time, error) {
	end := r.opened.Add(-settling).UTC()
	if z := r.sampleTime.zone; z != nil { // the column has what clocks in the zone show
		_, offset := end.In(z).Zone()
		end = end.Add(time.Duration(offset) * time.Second)
	}
	if !end.Before(to) {
		return to, nil
	}
	more, err := r.hasRows(ctx, r.dialect.query("SELECT 1 FROM sample WHERE channel_id = ? AND smpl_time >= ? AND smpl_time < ? LIMIT 1"), r.channel.id, end, to)
	if err != nil {
		return to, fmt.Errorf("the table sample: %w", err)
	}
	if more {
		r.to.Note(fmt.Sprintf("samples from %s on are left out, because the engine may not have written their arrays yet; repeat the import", end.Format(time.RFC3339)))
	}
	return end, nil
}

func (r *channelReader) readRows(ctx context.Context, from, to time.Time) error {
	columns := "smpl_time, nanosecs, severity_id, status_id, num_val, float_val, str_val"
	if r.blobs {
		columns += fmt.Sprintf(", datatype, CASE WHEN OCTET_LENGTH(array_val) <= %d THEN array_val END, OCTET_LENGTH(array_val)", maxBlob)
	}
	rows, err := r.db.QueryContext(ctx, r.dialect.query("SELECT "+columns+
		" FROM sample WHERE channel_id = ? AND smpl_time >= ? AND smpl_time < ? ORDER BY smpl_time, nanosecs"), r.channel.id, from, to)
	if err != nil {
		return fmt.Errorf("the table sample: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := r.scan(ctx, rows); err != nil {
			return err
		}
		if r.count++; r.count >= migration.Batch || r.size() > batchBytes {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("the table sample: %w", err)
	}
	return nil
}

// scan reads a row. An error is one of the connection; what is wrong with the row itself is a problem.
func (r *channelReader) scan(ctx context.Context, rows *sql.Rows) error {
	var x row
	var stamp time.Time
	var nanos, severity, status int64
	dest := []any{&stamp, &nanos, &severity, &status, &x.num, &x.float, &x.text}
	if r.blobs {
		dest = append(dest, &x.datatype, &x.blob, &x.size)
	}
	if err := rows.Scan(dest...); err != nil {
		return fmt.Errorf("the table sample: %w", err)
	}
	var err error
	if x.key, err = r.column.key(stamp, nanos); err == nil {
		x.at, err = r.column.at(x.key)
	}
	if err == nil {
		err = r.alarm(ctx, &x, severity, status)
	}
	if err == nil {
		err = r.use(&x)
	}
	if r.arrays != nil && r.arrays.err != nil {
		return fmt.Errorf("the table array_val: %w", r.arrays.err)
	}
	if err != nil {
		r.to.Problem("table sample", 0, fmt.Errorf("channel %d, %s: %w", r.channel.id, stamp.UTC().Format(time.RFC3339Nano), err))
	}
	return nil
}

// alarm sets the alarm of a row.
func (r *channelReader) alarm(ctx context.Context, x *row, severityID, statusID int64) (err error) {
	if x.status, err = r.statuses.name(ctx, statusID); err != nil {
		return err
	}
	level, err := r.severities.name(ctx, severityID)
	if err != nil {
		return err
	}
	number, known := statusNumber(x.status)
	if _, state := states[lower(x.status)]; !known && !state && lower(x.status) != notANumber {
		r.countUnknown("status " + x.status)
	}
	of, known := severity(level)
	if !known {
		r.countUnknown("severity " + level)
	}
	x.tag = sample.MakeTag(of, number)
	return nil
}

// maxUnknown is how many unknown texts of alarms are counted separately.
const maxUnknown = 20

func (r *channelReader) countUnknown(text string) {
	if _, found := r.unknown[text]; !found && len(r.unknown) >= maxUnknown {
		text = "other texts"
	}
	r.unknown[text]++
}

// use turns a row into a mark, or adds its value to the batch.
func (r *channelReader) use(x *row) error {
	if kind, state := states[lower(x.status)]; state {
		r.to.Mark(sample.Mark{Time: x.at, Kind: kind, Text: "recorded by the RDB archiver as " + x.status})
		r.off = true
		return nil
	}
	t, s, err := r.value(x)
	if err != nil {
		return err
	}
	if r.off {
		r.to.Mark(sample.Mark{Time: x.at, Kind: sample.Connected, Text: "recorded by the RDB archiver"})
		r.off = false
	}
	if r.runs[t] == nil {
		r.runs[t] = &sample.Run{Type: t}
	}
	r.runs[t].Append(&s)
	return nil
}

// size returns the bytes of the batch.
func (r *channelReader) size() (n int) {
	for _, run := range r.runs {
		n += run.Size()
	}
	return n
}

// flush passes on the batch, and the marks of its time.
func (r *channelReader) flush(ctx context.Context) error {
	r.count = 0
	for t := sample.Type(0); ; t++ { // in a fixed order
		if run := r.runs[t]; run != nil && run.Len() > 0 {
			if err := r.to.Samples(ctx, run); err != nil {
				return err
			}
			run.Reset(t)
		}
		if t == math.MaxUint8 {
			break
		}
	}
	return r.to.Samples(ctx, &sample.Run{Type: sample.Float64}) // stores marks that have no sample beside them
}
