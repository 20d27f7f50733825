package cassandra

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// chosen is a host in the form in which a policy returns it.
type chosen struct{ host *gocql.HostInfo }

func (c chosen) Info() *gocql.HostInfo { return c.host }
func (chosen) Mark(error)              {}

// inOrder is a policy that returns its hosts in order.
type inOrder struct {
	gocql.HostSelectionPolicy
	hosts []*gocql.HostInfo
}

func (p inOrder) Pick(gocql.ExecutableStatement) gocql.NextHost {
	i := -1
	return func() gocql.SelectedHost {
		if i++; i < len(p.hosts) {
			return chosen{p.hosts[i]}
		}
		return nil
	}
}

// cluster returns a policy and its hosts with the given IDs.
func cluster(t *testing.T, ids ...string) (*nodes, []*gocql.HostInfo) {
	t.Helper()
	var hosts []*gocql.HostInfo
	for _, id := range ids {
		h, err := gocql.NewTestHostInfoFromRow(map[string]any{"host_id": "00000000-0000-4000-8000-00000000000" + id, "rpc_address": "127.0.0." + id})
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, h)
	}
	n := newNodes()
	n.HostSelectionPolicy = inOrder{hosts: hosts}
	return n, hosts
}

// order returns the last digit of the ID of each host to which the policy sends a request, in
// order.
func order(n *nodes) (ids string) {
	next := n.Pick(nil)
	for h := next(); h != nil; h = next() {
		id := h.Info().HostID()
		ids += id[len(id)-1:]
	}
	return ids
}

func TestSilentNodesAreAskedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, hosts := cluster(t, "1", "2", "3")
		expect := func(when, want string) {
			t.Helper()
			if got := order(n); got != want {
				t.Errorf("%s: the order is %s, want %s", when, got, want)
			}
		}
		expect("at first", "123123123")
		n.observe(hosts[0], leastWait, context.Canceled)
		n.observe(hosts[1], time.Millisecond, context.Canceled)
		expect("the first was waited for in vain", "231123123")
		time.Sleep(silentFor)
		expect("some time later", "123123123")
		n.observe(hosts[1], 5*time.Second, gocql.ErrTimeoutNoResponse)
		n.observe(hosts[2], 5*time.Second, gocql.ErrTimeoutNoResponse)
		expect("two are silent", "123123123")
		n.observe(hosts[2], 5*time.Second, nil)
		expect("one answers", "132123123")
	})
}

func TestRequestsEndWithoutNodes(t *testing.T) {
	n, _ := cluster(t)
	if got := order(n); got != "" {
		t.Errorf("without nodes, a request is sent to %s", got)
	}
}

// TestWaitBeforeAnotherNodeIsAsked checks that a node that hangs does not lengthen the wait,
// and that a busy cluster does.
func TestWaitBeforeAnotherNodeIsAsked(t *testing.T) {
	n, hosts := cluster(t, "1")
	for _, step := range []struct {
		name        string
		answers     []time.Duration // response times, in order
		least, most time.Duration
	}{
		{"fast", []time.Duration{2 * time.Millisecond}, leastWait, leastWait},
		{"one of three hangs", []time.Duration{2 * time.Millisecond, 3 * time.Millisecond, 5 * time.Second}, leastWait, leastWait},
		{"busy", []time.Duration{400 * time.Millisecond, 500 * time.Millisecond}, 3 * time.Second, 5 * time.Second},
		{"fast again", []time.Duration{2 * time.Millisecond}, leastWait, leastWait},
	} {
		for _, took := range slices.Repeat(step.answers, 1000) {
			n.observe(hosts[0], took, nil)
		}
		if got := n.Delay(); got < step.least || got > step.most {
			t.Errorf("%s: the request is sent to another node after %v", step.name, got)
		}
	}
}
