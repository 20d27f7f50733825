// Package elasticity strikes an archive under load on a real cluster, and accounts
// for every sample afterwards:
//
//	IOC: counting PVs ──▶ engines ──▶ Cassandra ──▶ retrieval Service ──▶ tally
//	                        ▲                              │
//	       fault ───────────┘      watch: reads, while it happens, what had been
//	                                      read whole before, and the last seconds
//
//	row: fault | redundancy | rate | lost | duplicated | gap | recovery | marked
//
// A PV counts steps, so a step that is missing or there twice is seen whatever the
// archive says of itself. `make e2e-elasticity` runs it; docs/elasticity.md says what
// its columns mean. VARVE_RATE is the load in samples/s (2000), VARVE_REPORT a file
// that gets a line per fault. With VARVE_LONG=1 outages last 1 and 5 minutes, else
// 45 s. It knows the nodes and processes of hack/cluster.
package elasticity

import (
	"os"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"varve.dev/varve/test/e2e/lab"
)

var (
	_ = BeforeSuite(lab.Open)
	_ = AfterSuite(lab.Close)
)

func TestElasticity(t *testing.T) {
	if os.Getenv("VARVE_E2E") == "" {
		t.Skip("needs a cluster: run `make e2e-elasticity`")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "Elasticity")
}

// perPV is how often a counting PV counts, per second.
const perPV = 10

// rate is the load in samples/s.
func rate() int {
	if n, err := strconv.Atoi(os.Getenv("VARVE_RATE")); err == nil && n >= perPV {
		return n
	}
	return 2000
}

// outage is how long something is away: less in a run that is to be short.
func outage(full time.Duration) time.Duration {
	if os.Getenv("VARVE_LONG") != "" {
		return full
	}
	return min(full, 45*time.Second)
}
