package main

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestSoftLimit(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name         string
		memory, want int64
		live         uint64
	}{
		{"least memory", 16 * mib, 288 * mib, 0},
		{"default", 1024 * mib, 2304 * mib, 1000 * mib},
		{"very many PVs", 64 * mib, 1200 * mib, 900 * mib},
		{"all memory that there is", math.MaxInt64, softLimit(math.MaxInt64/4, 0), 0},
	} {
		if got := softLimit(c.memory, c.live); got != c.want || got <= 0 {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestHeapLimitFollowsMemoryFlag(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetMemoryLimit(-1)
	h := limitHeap(1 << 30)
	if got, want := debug.SetMemoryLimit(-1), softLimit(1<<30, 0); got != want {
		t.Errorf("the limit is %d, want %d", got, want)
	}
	if h.end(); debug.SetMemoryLimit(-1) != before {
		t.Errorf("the limit is %d at the end, and was %d", debug.SetMemoryLimit(-1), before)
	}
}

// TestUsersHeapLimitStays checks that GOMEMLIMIT, which the operator sets, has priority.
func TestUsersHeapLimitStays(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "3GiB")
	before := debug.SetMemoryLimit(-1)
	if h := limitHeap(1 << 30); h != nil || debug.SetMemoryLimit(-1) != before {
		t.Errorf("the limit was %d and is %d", before, debug.SetMemoryLimit(-1))
	}
}
