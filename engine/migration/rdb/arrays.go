package rdb

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// maxElements bounds the elements of an array.
const maxElements = 2 << 20

// maxBlob bounds the bytes of array_val in the table sample.
const maxBlob = 4 + 8*maxElements

// arrayCursor reads the table array_val of the old layout: the elements of arrays after the first one.
// It goes through the table beside the table sample, in the same order.
type arrayCursor struct {
	rows   *sql.Rows
	column timeColumn
	next   element
	more   bool // next is valid
	err    error
	// last is the key of the last call of elements, and found and bad are its results. An engine that repeats
	// a batch writes rows twice.
	last  key
	found []byte
	bad   error
}

// element is a row of the table array_val.
type element struct {
	key    key
	number int64
	value  float64
	err    error // of the row's time
}

// openArrays begins to read the elements of the channel.
func (r *channelReader) openArrays(ctx context.Context, from, to time.Time) (*arrayCursor, error) {
	rows, err := r.db.QueryContext(ctx, r.dialect.query("SELECT smpl_time, nanosecs, seq_nbr, float_val FROM array_val"+
		" WHERE channel_id = ? AND smpl_time >= ? AND smpl_time < ? ORDER BY smpl_time, nanosecs, seq_nbr"), r.channel.id, from, to)
	if err != nil {
		return nil, err
	}
	c := &arrayCursor{rows: rows, column: r.elementTime}
	c.advance()
	return c, nil
}

func (c *arrayCursor) close() { _ = c.rows.Close() } // nothing was written

// advance reads the next row.
func (c *arrayCursor) advance() {
	if c.more = c.rows.Next(); !c.more {
		c.err = c.rows.Err()
		return
	}
	var stamp time.Time
	var nanos int64
	var value sql.NullFloat64
	c.next = element{}
	if c.err = c.rows.Scan(&stamp, &nanos, &c.next.number, &value); c.err != nil {
		c.more = false
		return
	}
	c.next.value = math.NaN()
	if value.Valid {
		c.next.value = value.Float64
	}
	c.next.key, c.next.err = c.column.key(stamp, nanos)
}

// elements returns the elements after the first one of a sample, little-endian. It returns none if the sample
// is no array. The keys of the calls must not decrease. Afterwards, c.err says if the table could be read.
func (c *arrayCursor) elements(k key) ([]byte, error) {
	if k != c.last {
		c.last = k
		c.found, c.bad = c.read(k)
	}
	return c.found, c.bad
}

// read reads the elements of a sample.
func (c *arrayCursor) read(k key) (out []byte, err error) {
	for c.more && (c.next.err != nil || c.next.key.compare(k) < 0) {
		c.advance()
	}
	for want := int64(1); c.more && c.next.err == nil && c.next.key == k; want++ {
		switch {
		case err != nil:
		case c.next.number != want:
			err = fmt.Errorf("element %d of the array is missing in the table array_val", want)
		case want >= maxElements:
			err = fmt.Errorf("the array has more than %d elements", maxElements)
		default:
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(c.next.value))
		}
		c.advance()
	}
	return out, err
}
