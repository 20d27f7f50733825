package cassandra

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listed yields headers of 1 MiB each with the given ends, and then an error.
func listed(ends []int64, err error) iter.Seq2[header, error] {
	return func(yield func(header, error) bool) {
		for i, end := range ends {
			if !yield(header{start: int64(i), end: end, size: 1 << 20}, nil) {
				return
			}
		}
		if err != nil {
			yield(header{}, err)
		}
	}
}

func TestSpansHoldOnlyWhatIsWanted(t *testing.T) {
	for _, test := range []struct {
		ends []int64 // the read wants ends of at least 10
		want string
	}{
		{nil, ""},
		{[]int64{1, 2}, ""},
		{[]int64{10}, "0-0 "},
		{[]int64{1, 10, 11, 2, 12}, "1-2 4-4 "},
		{[]int64{10, 10, 10, 10, 10, 10, 1, 10}, "0-3 4-5 7-7 "}, // a span has at most 4 MiB
	} {
		got := ""
		for sp, err := range spans(listed(test.ends, nil), func(end int64) bool { return end >= 10 }) {
			if err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprintf("%d-%d ", sp.first.start, sp.last.start)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("spans of %v (-want +got):\n%s", test.ends, diff)
		}
	}
}

func TestSpansEndWithTheError(t *testing.T) {
	broken := errors.New("broken")
	n := 0
	for _, err := range spans(listed([]int64{10}, broken), func(int64) bool { return true }) {
		if n++; !errors.Is(err, broken) {
			t.Errorf("element %d of the sequence has the error %v", n, err)
		}
	}
	if n != 1 {
		t.Errorf("the sequence has %d elements", n)
	}
}

func TestBackDoesNotWrap(t *testing.T) {
	for _, test := range []struct{ t, by, want int64 }{
		{10, 3, 7}, {math.MinInt64, 0, math.MinInt64}, {math.MinInt64 + 1, 2, math.MinInt64}, {math.MaxInt64, math.MaxInt64, 0},
	} {
		if got := back(test.t, test.by); got != test.want {
			t.Errorf("back(%d, %d) = %d, want %d", test.t, test.by, got, test.want)
		}
	}
}
