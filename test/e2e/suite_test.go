// Package e2e tests Varve on a real Kubernetes cluster with several nodes. The specs use Varve
// from outside the cluster, as its users do:
//
//	helm ──▶ charts ──▶ operator ──▶ engines, retrieval        (pods)
//	kubectl ──▶ ArchiveGroups ──┘      ▲          │
//	                                   │ CA       │ HTTP, NodePort
//	real IOCs, Cassandra ──────────────┴──▶ every step of every PV, once
//	(on the host's address in the cluster's network)
//
// The specs need VARVE_E2E=1, and a cluster in KUBECONFIG that has an image of Varve. `make
// e2e` provides both. CI runs only the specs with the label smoke. Specs with the label bare
// stop parts of the cluster, so they need the cluster of hack/cluster. With VARVE_LONG=1,
// faults last as long as the names of the specs say. Without it, faults are shorter.
package e2e

import (
	"os"
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

func TestE2E(t *testing.T) {
	if os.Getenv("VARVE_E2E") == "" {
		t.Skip("needs a cluster: run `make e2e`, or set VARVE_E2E=1 and KUBECONFIG")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "Varve on a cluster")
}

// long reports whether faults have their full length.
func long() bool { return os.Getenv("VARVE_LONG") != "" }

// either returns full if faults have their full length, and short otherwise.
func either[T any](short, full T) T {
	if long() {
		return full
	}
	return short
}
