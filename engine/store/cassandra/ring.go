package cassandra

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// Limits of the reads of a whole table.
const (
	// maxSplits is how many failures in a row, without a row in between, make a read of a table
	// smaller. The last read then covers 1/65536 of the tokens of the first.
	maxSplits = 16
	// timeoutSplits is how many of maxSplits a time-out counts for, because it takes long.
	timeoutSplits = 4
)

// tokens is a range of the ring, with both ends.
type tokens struct{ first, last int64 }

var wholeRing = tokens{math.MinInt64, math.MaxInt64}

// split returns the halves of a range. ok is false if the range has only one token.
func (r tokens) split() (lower, upper tokens, ok bool) {
	width := uint64(r.last) - uint64(r.first)
	middle := r.first + int64(width/2)
	return tokens{r.first, middle}, tokens{middle + 1, r.last}, width > 0
}

// placed is a row with its partition key and the token of that key.
type placed[T any] struct {
	token int64
	key   string
	row   T
}

// readTokens reads the rows of a range, in order of their tokens, in pages of a number of rows.
type readTokens[T any] func(ctx context.Context, r tokens, page int) iter.Seq2[placed[T], error]

// readRing yields the rows of a table whose partitions have one row each. It reads the whole ring
// as one range. If the nodes cannot read a range, it reads what is left of the range in halves, in
// smaller pages:
//
//	├───────── fails ─────────┤
//	├── fails ──┤├────────────┤
//	├────┤├─────┤├────────────┤
//
// So it gets past more tombstones than a node reads for one request, and past nodes that are too
// slow for a page. It yields each row once. The error of a range that cannot be read even so is an
// *unreadError.
func readRing[T any](ctx context.Context, table string, page int, read readTokens[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		failures, rows := 0, page
		left := []cursor{{tokens: wholeRing}} // the next range is the last
		for len(left) > 0 {
			next := left[len(left)-1]
			left = left[:len(left)-1]
			more, err := follow(&next, read(ctx, next.tokens, rows), yield)
			if !more {
				return
			}
			if err == nil || next.moved {
				failures = 0
			}
			if err == nil {
				rows = min(2*rows, page)
				continue
			}
			failures += weigh(err)
			if failures > maxSplits || !isTooMuch(err) || ctx.Err() != nil {
				var none T
				yield(none, &unreadError{table: table, tokens: next.tokens, cause: err})
				return
			}
			if lower, upper, ok := next.split(); ok {
				left = append(left, cursor{tokens: upper})
				next.tokens = lower
			}
			left, rows = append(left, cursor{tokens: next.tokens, keys: next.keys}), max(rows/2, 1)
		}
	}
}

// cursor is what is left of a range.
type cursor struct {
	tokens
	keys  []string // of the rows with the first token that were yielded; usually one at the most
	moved bool     // the last read found a row
}

// follow yields rows and moves the cursor, until an error. more is false if the consumer wants no
// more rows.
func follow[T any](c *cursor, rows iter.Seq2[placed[T], error], yield func(T, error) bool) (more bool, err error) {
	for r, err := range rows {
		if err != nil {
			return true, err
		}
		if r.token != c.first {
			c.first, c.keys = r.token, nil
		} else if slices.Contains(c.keys, r.key) {
			continue
		}
		c.moved, c.keys = true, append(c.keys, r.key)
		if !yield(r.row, nil) {
			return false, nil
		}
	}
	return true, nil
}

// isTooMuch reports whether a smaller read may succeed after an error.
func isTooMuch(err error) bool {
	var refused gocql.RequestError
	if !errors.As(err, &refused) {
		return isTimeout(err)
	}
	switch refused.Code() {
	case gocql.ErrCodeReadTimeout, gocql.ErrCodeReadFailure:
		return true
	}
	return false
}

func isTimeout(err error) bool { return whyFailed(err) == "timeout" }

// weigh returns how many failures an error counts for.
func weigh(err error) int {
	if isTimeout(err) {
		return timeoutSplits
	}
	return 1
}

// unreadError means that the nodes cannot read a range of a table.
type unreadError struct {
	table  string
	tokens tokens
	cause  error
}

func (e *unreadError) Unwrap() error { return e.cause }

func (e *unreadError) Error() string {
	text := fmt.Sprintf("reading the tokens from %d to %d of table %s: %v", e.tokens.first, e.tokens.last, e.table, e.cause)
	if failed := (*gocql.RequestErrReadFailure)(nil); errors.As(e.cause, &failed) && len(failed.ErrorMap) > 0 {
		text += "; " + nodeReasons(failed.ErrorMap)
	}
	return text
}

// tooManyTombstones is the reason with which a node refuses a read that meets more tombstones than
// its tombstone_failure_threshold.
const tooManyTombstones = 1

// reasons are the reasons of CQL's native protocol for which nodes fail.
var reasons = map[uint16]string{tooManyTombstones: "too many tombstones", 2: "time-out", 3: "another schema", 4: "too many bytes"}

// nodeReasons says why nodes failed, and what helps.
func nodeReasons(failed gocql.ErrorMap) string {
	var all []string
	advice := ""
	for _, node := range slices.Sorted(maps.Keys(failed)) {
		reason, known := reasons[failed[node]]
		if !known {
			reason = fmt.Sprintf("reason %d", failed[node])
		}
		if failed[node] == tooManyTombstones {
			advice = "; lower gc_grace_seconds of the table and compact it, or raise tombstone_failure_threshold of the nodes"
		}
		all = append(all, node+": "+reason)
	}
	return strings.Join(all, ", ") + advice
}
