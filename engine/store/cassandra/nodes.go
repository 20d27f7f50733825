package cassandra

import (
	"sync"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// Limits of how long a node is waited for alone.
const (
	leastWait   = 500 * time.Millisecond
	waitMedians = 8
	// silentFor is how long a node that was waited for in vain is asked last.
	silentFor = 5 * time.Second
)

// rounds is how often a request goes through the nodes.
const rounds = 1 + maxRetries

// nodes has the driver send a request to a replica of its partition, then to the other
// replicas, then to any node that is up. All are of one datacenter: a quorum of another
// one is not one here.
//
// A process that is killed ends its connections, but a machine that dies or hangs just
// does not answer, for the 10 or 20 s that the other nodes take to notice. Each request
// to it would wait until it times out. So if a node is silent for far longer than nodes
// take, a second is asked as well, and a third, as the second may wait for the first.
// The answer that is there first counts, and a node that gave none is asked last for
// some time. Where all nodes are slow, the wait is longer, so that a busy cluster is
// not asked everything several times.
type nodes struct {
	gocql.HostSelectionPolicy

	median atomic.Int64 // of the times that answers take, about, in ns

	mu     sync.RWMutex
	silent map[string]time.Time // until when, by host id
}

func newNodes() *nodes {
	return &nodes{
		HostSelectionPolicy: gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy(), gocql.ShuffleReplicas()),
		silent:              map[string]time.Time{},
	}
}

// Pick implements gocql.HostSelectionPolicy. Having gone through all nodes, it begins
// again: if it came to an end, a second attempt that finds no node would fail the
// request, while the first is under way.
func (n *nodes) Pick(q gocql.ExecutableStatement) gocql.NextHost {
	next, round := n.HostSelectionPolicy.Pick(q), 1
	var last []gocql.SelectedHost
	return func() gocql.SelectedHost {
		for {
			h := next()
			switch {
			case h != nil && round == 1 && n.isSilent(h.Info().HostID()):
				last = append(last, h)
			case h != nil:
				return h
			case len(last) > 0:
				h, last = last[0], last[1:]
				return h
			case round == rounds:
				return nil
			default:
				round++
				next = n.HostSelectionPolicy.Pick(q)
			}
		}
	}
}

// Attempts implements gocql.SpeculativeExecutionPolicy.
func (*nodes) Attempts() int { return 2 }

// Delay implements gocql.SpeculativeExecutionPolicy.
func (n *nodes) Delay() time.Duration {
	return max(leastWait, waitMedians*time.Duration(n.median.Load()))
}

// observe takes note of how long a request took, and whether it was answered.
func (n *nodes) observe(host *gocql.HostInfo, took time.Duration, err error) {
	if err != nil {
		if took >= leastWait {
			n.mu.Lock()
			n.silent[host.HostID()] = time.Now().Add(silentFor)
			n.mu.Unlock()
		}
		return
	}
	if n.isSilent(host.HostID()) {
		n.mu.Lock()
		delete(n.silent, host.HostID())
		n.mu.Unlock()
	}
	// The median is where as many answers pull it up as down: those that came late for
	// a node that hangs count as one each. That one of two at a time is forgotten
	// matters not.
	median := n.median.Load()
	step := median/32 + int64(time.Microsecond)
	if int64(took) < median {
		step = -step
	}
	n.median.Store(median + step)
}

func (n *nodes) isSilent(hostID string) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	until, ok := n.silent[hostID]
	return ok && time.Now().Before(until)
}
