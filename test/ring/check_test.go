package ring

import (
	"slices"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/cassandra"
	"varve.dev/varve/test/program"
)

// checkWhole fails the test if the samples of a PV up to end have a hole, or if the sample at
// last is missing. Before the program stopped, it had reported this sample as the latest one.
func checkWhole(t *testing.T, pv string, events []archive.Event, end, last time.Time) {
	t.Helper()
	if !slices.ContainsFunc(events, func(e archive.Event) bool { return e.Time == last.UnixNano() }) {
		t.Errorf("%s: the sample of %v was received before the stop and is missing", pv, last)
	}
	events = slices.DeleteFunc(events, func(e archive.Event) bool { return e.Time > end.UnixNano() })
	if err := whole(pv, events); err != nil {
		t.Error(err)
	}
}

// awaitNodes waits until a store's metrics show the given numbers of nodes up and down.
func awaitNodes(t *testing.T, reg prometheus.Gatherer, up, down float64) {
	t.Helper()
	program.Eventually(t, "the driver knows which nodes are up and down", func() bool {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "varve_cassandra_nodes" {
					got[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
				}
			}
		}
		return got["up"] == up && got["down"] == down
	})
}

// checkUsed fails the test if clients send hardly any requests to a node.
func checkUsed(t *testing.T, n *cassandra.Node) {
	t.Helper()
	cluster := gocql.NewCluster(n.Addr())
	cluster.ProtoVersion, cluster.DisableInitialHostLookup, cluster.Timeout = 5, true, program.Patience
	cluster.Logger = gocql.NewLogger(gocql.LogLevelNone)
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var sum int
	it := session.Query("SELECT request_count FROM system_views.clients").IterContext(t.Context())
	for requests := 0; it.Scan(&requests); {
		sum += requests
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	if sum < many {
		t.Errorf("the node at %s received %d requests, want at least %d", n.Host, sum, many)
	}
	t.Logf("the node at %s received %d requests", n.Host, sum)
}
