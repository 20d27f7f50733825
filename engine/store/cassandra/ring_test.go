package cassandra

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// wornRing is a table with many deleted rows. Like a Cassandra node, it fails a request that meets
// more than threshold deleted rows before its page is full.
type wornRing struct {
	rows      []placed[string] // in order of their tokens; a row without a key is deleted
	threshold int
	broken    func(r tokens) error // may fail a request

	requests, widest int // the widest page of the last request
}

func (w *wornRing) read(_ context.Context, r tokens, page int) iter.Seq2[placed[string], error] {
	return func(yield func(placed[string], error) bool) {
		w.requests++
		w.widest = page
		if w.broken != nil {
			if err := w.broken(r); err != nil {
				yield(placed[string]{}, err)
				return
			}
		}
		var ready []placed[string]
		deleted := 0
		for i := range w.rows {
			switch row := w.rows[i]; {
			case row.token < r.first || row.token > r.last:
				continue
			case row.key != "":
				ready = append(ready, row)
			default:
				if deleted++; deleted > w.threshold {
					yield(placed[string]{}, tombstones("10.0.0.1"))
					return
				}
			}
			if len(ready) == page {
				for _, row := range ready {
					if !yield(row, nil) {
						return
					}
				}
				ready, deleted = nil, 0
			}
		}
		for _, row := range ready {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// refusal is an error with a code, as nodes send it.
type refusal int

func (r refusal) Error() string   { return r.Message() }
func (r refusal) Message() string { return fmt.Sprintf("refused for %#x", int(r)) }
func (r refusal) Code() int       { return int(r) }

// tombstones is the error of a read that met too many tombstones on a node. The driver keeps the
// code in a field that no other package can set, so the code comes from a second error.
func tombstones(node string) error {
	return fmt.Errorf("%w, %w", refusal(gocql.ErrCodeReadFailure), &gocql.RequestErrReadFailure{NumFailures: 1, ErrorMap: gocql.ErrorMap{node: tooManyTombstones}})
}

// worn returns a table with a live row among so many deleted ones.
func worn(live, deletedEach int) (w wornRing, keys []string) {
	rng := rand.New(rand.NewChaCha8([32]byte{7}))
	for i := range live * (1 + deletedEach) {
		row := placed[string]{token: int64(rng.Uint64())}
		if i < live {
			row.key = fmt.Sprint("PV", i)
			row.row = row.key
		}
		w.rows = append(w.rows, row)
	}
	slices.SortFunc(w.rows, func(a, b placed[string]) int {
		if a.token < b.token {
			return -1
		}
		return 1
	})
	for _, r := range w.rows {
		if r.key != "" {
			keys = append(keys, r.key)
		}
	}
	return w, keys
}

func list(seq iter.Seq2[string, error]) (keys []string, err error) {
	for key, err := range seq {
		if err != nil {
			return keys, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// TestRingIsReadPastTombstones reads a table in which a node meets too many deleted rows in one
// request. Each live row must be read once, in order.
func TestRingIsReadPastTombstones(t *testing.T) {
	for _, test := range []struct{ live, deletedEach, threshold, most int }{
		{0, 0, 100, 1},
		{500, 0, 100, 1},
		{500, 30, 100000, 1}, // fewer than the threshold
		{500, 30, 1000, 60},
		{3, 20000, 1000, 300},
		{2000, 10, 20, 6000},
	} {
		w, want := worn(test.live, test.deletedEach)
		w.threshold = test.threshold
		got, err := list(readRing(t.Context(), "channel", 100, w.read))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v: %d rows, want %d, %v", test, len(got), len(want), err)
		}
		if w.requests > test.most {
			t.Errorf("%+v: %d requests", test, w.requests)
		}
	}
}

// TestRowsWithTheSameTokenAreReadOnce interrupts a read between rows with the same token.
func TestRowsWithTheSameTokenAreReadOnce(t *testing.T) {
	w := wornRing{threshold: 1000}
	for _, token := range []int64{math.MinInt64 + 1, -5, 0, math.MaxInt64} {
		for i := range 3 {
			key := fmt.Sprint(token, "/", i)
			w.rows = append(w.rows, placed[string]{token, key, key})
		}
	}
	for after := range len(w.rows) {
		requests := 0
		read := func(ctx context.Context, r tokens, page int) iter.Seq2[placed[string], error] {
			return func(yield func(placed[string], error) bool) {
				requests++
				n := 0
				for row, err := range w.read(ctx, r, page) {
					if requests == 1 && n == after {
						yield(row, gocql.ErrTimeoutNoResponse)
						return
					}
					if n++; !yield(row, err) {
						return
					}
				}
			}
		}
		got, err := list(readRing(t.Context(), "channel", 100, read))
		if slices.Sort(got); err != nil || len(got) != 12 || len(slices.Compact(got)) != 12 {
			t.Errorf("interrupted after %d rows: %v, %v", after, got, err)
		}
	}
}

// TestUnreadableRangeIsNamed checks that the error of a range that stays unreadable names the table,
// the tokens, the node and its reason, that the number of requests is bounded, and that other
// errors are not met with smaller reads.
func TestUnreadableRangeIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		err      error
		requests int
		text     []string
	}{
		"Tombstones":   {tombstones("10.0.0.9"), maxSplits + 1, []string{"10.0.0.9: too many tombstones", "tombstone_failure_threshold"}},
		"NodesTimeOut": {refusal(gocql.ErrCodeReadTimeout), maxSplits/timeoutSplits + 1, []string{"refused for 0x1200"}},
		"NoAnswer":     {gocql.ErrTimeoutNoResponse, maxSplits/timeoutSplits + 1, []string{gocql.ErrTimeoutNoResponse.Error()}},
		"Unavailable":  {refusal(gocql.ErrCodeUnavailable), 1, nil},
		"Forbidden":    {refusal(gocql.ErrCodeUnauthorized), 1, nil},
		"Disconnected": {gocql.ErrNoConnections, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w, keys := worn(200, 0)
			w.threshold = 1
			bad := w.rows[100].token
			failed := 0
			w.broken = func(r tokens) error {
				if r.first <= bad && bad <= r.last {
					failed++
					return test.err
				}
				return nil
			}
			got, err := list(readRing(t.Context(), "lab.channel", 1000, w.read))
			var unread *unreadError
			if !errors.As(err, &unread) || !errors.Is(err, test.err) {
				t.Fatal(err)
			}
			if r := unread.tokens; bad < r.first || bad > r.last {
				t.Errorf("the error names the tokens %v, but %d fails", r, bad)
			}
			for _, text := range append(test.text, "table lab.channel", fmt.Sprint(unread.tokens.first), fmt.Sprint(unread.tokens.last)) {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the error %q has no %q", err, text)
				}
			}
			if test.requests == 1 && w.requests != 1 || failed > 100 || failed < test.requests-1 {
				t.Errorf("%d requests, of which %d failed", w.requests, failed)
			}
			if !slices.Equal(got, keys[:len(got)]) {
				t.Errorf("before the error, the rows %v are read", got)
			}
		})
	}
}

// TestRingReadEndsWithItsContext checks that nothing more is requested after the caller gave up.
func TestRingReadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w, _ := worn(10, 0)
	w.broken = func(tokens) error { cancel(); return context.DeadlineExceeded }
	if _, err := list(readRing(ctx, "channel", 10, w.read)); !errors.Is(err, context.DeadlineExceeded) || w.requests != 1 {
		t.Errorf("%d requests, %v", w.requests, err)
	}
}

// TestPagesShrinkAndGrow checks that pages are smaller after a failure, and full again later.
func TestPagesShrinkAndGrow(t *testing.T) {
	w, _ := worn(10, 0)
	var pages []int
	w.broken = func(tokens) error {
		if pages = append(pages, w.widest); len(pages) <= 3 {
			return refusal(gocql.ErrCodeReadFailure)
		}
		return nil
	}
	if _, err := list(readRing(t.Context(), "channel", 64, w.read)); err != nil || !slices.Equal(pages, []int{64, 32, 16, 8, 16, 32, 64}) {
		t.Errorf("the pages have %v rows, %v", pages, err)
	}
}
