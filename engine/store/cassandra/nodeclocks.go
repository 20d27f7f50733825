package cassandra

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/clock"
)

// asksPerNode is how many times a node is asked for its clock. The fastest answer counts.
const asksPerNode = 3

// nodeClocks is the time by the clocks of the nodes: the median of the nodes that answered last.
// It is the same in all processes, up to the time that answers take, regardless of their own
// clocks. Timestamps of it therefore order the writes of different processes.
type nodeClocks struct {
	// zero is the time, in ns since 1970, at which the clock since boot stood at 0, or 0 if no node
	// was asked yet. within is its error in ns.
	zero, within atomic.Int64
}

// Now returns the time by the clocks of the nodes, in ns since 1970.
func (s *Store) Now() int64 {
	if s.cfg.Timestamps != nil {
		return s.cfg.Timestamps().UnixNano()
	}
	if zero := s.nodeClocks.zero.Load(); zero != 0 {
		return zero + int64(clock.SinceBoot())
	}
	return s.cfg.Now().UnixNano()
}

// earliest returns the earliest time that it may be now, in ns since 1970. The servers expire rows
// by their own clocks, so they count too.
func (s *Store) earliest() int64 {
	now := min(s.Now(), s.cfg.Now().UnixNano())
	if s.cfg.Earliest != nil {
		now = min(now, s.cfg.Earliest())
	}
	return now
}

// Clocks asks all nodes of the datacenter for their clocks, and follows the answers. The readings
// are anchored on the given clock since boot. Clocks fails if no node answers.
func (s *Store) Clocks(ctx context.Context, boot func() time.Duration) ([]clock.Reading, error) {
	var hosts []*gocql.HostInfo
	for _, h := range s.session.GetHosts() {
		if h.DataCenter() == s.cfg.Datacenter && h.IsUp() {
			hosts = append(hosts, h)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	var mu sync.Mutex
	var out []clock.Reading
	var zeros []zero
	failed := fmt.Errorf("no node of datacenter %s is up", s.cfg.Datacenter)
	_ = each(ctx, len(hosts), parallel, func(ctx context.Context, i int) error {
		r, z, err := s.askClock(ctx, hosts[i], boot)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed = fmt.Errorf("asking node %v for its clock: %w", hosts[i].ConnectAddress(), err)
		} else {
			out, zeros = append(out, r), append(zeros, z)
		}
		return nil // the other nodes may answer
	})
	if len(out) == 0 {
		return nil, failed
	}
	slices.SortFunc(zeros, func(a, b zero) int { return cmp.Compare(a.at, b.at) })
	middle := zeros[(len(zeros)-1)/2]
	s.nodeClocks.zero.Store(middle.at)
	s.nodeClocks.within.Store(int64(middle.within))
	return out, nil
}

// zero is the time by a node, in ns since 1970, at which the clock since boot stood at 0.
type zero struct {
	at     int64
	within time.Duration
}

// askClock asks a node for its clock.
func (s *Store) askClock(ctx context.Context, h *gocql.HostInfo, boot func() time.Duration) (best clock.Reading, z zero, err error) {
	for i := range asksPerNode {
		var t time.Time
		sent, sentBoot := boot(), clock.SinceBoot()
		err := s.session.Query("SELECT toTimestamp(now()) FROM system.local").
			SetHostID(h.HostID()).ScanContext(withOperation(ctx, "clock"), &t)
		if err != nil {
			return best, z, err
		}
		took := boot() - sent
		within := took/2 + time.Millisecond
		if i == 0 || within < best.Within {
			best = clock.Reading{Source: h.HostID(), Time: t.UnixNano(), At: sent + took/2, Within: within}
			z = zero{t.UnixNano() - int64(sentBoot+took/2), within}
		}
	}
	return best, z, nil
}

// settle waits until a timestamp that another process takes now is later than those that this
// process took, although both know the clocks of the nodes only up to an error.
func (s *Store) settle(ctx context.Context) error {
	wait := 2*time.Duration(s.nodeClocks.within.Load()) + time.Millisecond
	select {
	case <-time.After(min(wait, time.Second)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
