package cassandra

import (
	"sync"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// These are the bounds of the time that a request waits for one node before it is sent to a
// second node too.
const (
	leastWait   = 500 * time.Millisecond
	waitMedians = 8
	// silentFor is how long a node that did not answer is the last choice for requests.
	silentFor = 5 * time.Second
)

// rounds is how many times a request goes through the list of nodes.
const rounds = 1 + maxRetries

// nodes is the driver's policy that selects the nodes for a request: first a replica of its
// partition, then the other replicas, then any node that is up. All nodes are in one
// datacenter, because only a quorum of the archive's datacenter counts.
//
// The connections of a killed process close at once. A machine that dies or hangs, however,
// does not answer. The other nodes take 10 or 20 s to notice, and each request to the machine
// would time out. If a node is silent for much longer than answers usually take, the driver
// therefore sends the request to a second node too, and then to a third one, because the
// second node may wait for the first. The first answer counts. A node that did not answer
// becomes the last choice for some time. When all nodes are slow, the wait is longer, so that
// a busy cluster does not get every request several times.
type nodes struct {
	gocql.HostSelectionPolicy

	median atomic.Int64 // approximate median of the times that answers take, in ns

	mu     sync.RWMutex
	silent map[string]time.Time // end of the time in which a node counts as silent, by host ID
}

func newNodes() *nodes {
	return &nodes{
		HostSelectionPolicy: gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy(), gocql.ShuffleReplicas()),
		silent:              map[string]time.Time{},
	}
}

// Pick implements gocql.HostSelectionPolicy. After the last node it starts again with the
// first node. Otherwise a second attempt could find no node left, and would fail the request
// while the first attempt is still in flight.
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

// observe records how long a request took and whether it was answered.
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
	// Each answer moves the estimate of the median up or down by the same step, so a very late
	// answer of a node that hangs counts no more than any other. One of two concurrent updates
	// may be lost, which does not matter.
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
