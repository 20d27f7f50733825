package native

import (
	"cmp"
	"slices"

	"varve.dev/varve/engine/capture"
)

// order is an order of channels: it returns a negative number if a comes before b.
type order func(a, b *capture.Status) int

// orders are the values of the parameter sort.
var orders = map[string]order{
	"rate":            func(a, b *capture.Status) int { return cmp.Compare(b.Rate, a.Rate) },
	"received":        func(a, b *capture.Status) int { return cmp.Compare(b.Received, a.Received) },
	"stored":          func(a, b *capture.Status) int { return cmp.Compare(b.Stored, a.Stored) },
	"dropped":         func(a, b *capture.Status) int { return cmp.Compare(dropped(b), dropped(a)) },
	"lostConnections": func(a, b *capture.Status) int { return cmp.Compare(b.LostConnections, a.LostConnections) },
	"since":           func(a, b *capture.Status) int { return cmp.Compare(b.Since, a.Since) },
	"last":            func(a, b *capture.Status) int { return cmp.Compare(lastTime(a), lastTime(b)) },
}

// Orders are the values of the parameter sort of /api/v1/channels: the largest numbers, the latest
// changes of state, and the oldest samples come first.
var Orders = []string{"rate", "received", "stored", "dropped", "lostConnections", "since", "last"}

func dropped(s *capture.Status) (sum uint64) {
	for _, n := range s.Dropped {
		sum += n
	}
	return sum
}

// lastTime returns the time of the last sample, or 0 if there is none.
func lastTime(s *capture.Status) int64 {
	if !s.HasLast {
		return 0
	}
	return s.Last.Time
}

// firsts keeps the first channels of an order, up to a limit.
type firsts struct {
	limit   int
	compare order
	list    []*capture.Status
	// last is the last one of the first ones so far, or nil before there are that many.
	last *capture.Status
}

func (f *firsts) add(s *capture.Status) {
	if f.last != nil && f.compare(f.last, s) <= 0 {
		return
	}
	kept := *s
	f.list = append(f.list, &kept)
	if len(f.list) > 2*f.limit+1024 {
		f.cut()
	}
}

func (f *firsts) cut() {
	slices.SortStableFunc(f.list, f.compare)
	if len(f.list) < f.limit {
		return
	}
	clear(f.list[f.limit:])
	f.list = f.list[:f.limit]
	f.last = f.list[f.limit-1]
}
