// Package elasticity causes faults in an archive under load on a real cluster. It accounts for
// every sample afterwards:
//
//	IOC: counting PVs ──▶ engines ──▶ Cassandra ──▶ retrieval Service ──▶ tally
//	                        ▲                              │
//	       fault ───────────┘      watch: during the fault, reads a window that was
//	                                      complete before, and the last seconds
//
//	row: fault | redundancy | rate | lost | duplicated | gap | recovery | marked
//
// Each PV counts steps. The test therefore finds a missing or duplicated step without relying
// on the reports of the archive. `make e2e-elasticity` runs the specs, and docs/elasticity.md
// explains the columns of the result. VARVE_RATE is the load in samples/s (default 2000).
// VARVE_REPORT is a file that gets one line per fault. With VARVE_LONG=1, outages last 1 and 5
// minutes; without it, at most 45 s. The specs rely on the nodes and processes of
// hack/cluster.
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

// perPV is the number of steps that a counting PV counts per second.
const perPV = 10

// rate returns the load in samples/s.
func rate() int {
	if n, err := strconv.Atoi(os.Getenv("VARVE_RATE")); err == nil && n >= perPV {
		return n
	}
	return 2000
}

// outage returns the length of an outage: full with VARVE_LONG, and at most 45 s without it.
func outage(full time.Duration) time.Duration {
	if os.Getenv("VARVE_LONG") != "" {
		return full
	}
	return min(full, 45*time.Second)
}
