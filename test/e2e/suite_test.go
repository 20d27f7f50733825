// Package e2e tests Varve on a real Kubernetes cluster of several nodes, from
// outside, as its users see it:
//
//	helm ──▶ charts ──▶ operator ──▶ engines, retrieval        (pods)
//	kubectl ──▶ ArchiveGroups ──┘      ▲          │
//	                                   │ CA       │ HTTP, NodePort
//	real IOCs, Cassandra ──────────────┴──▶ every step of every PV, once
//	(on the host's address of the cluster's network)
//
// It runs with VARVE_E2E=1 on the cluster of KUBECONFIG, which has an image of
// Varve: `make e2e` does all of that. Specs labelled smoke are what CI runs.
// Specs labelled bare need the cluster of hack/cluster, whose parts they stop.
// With VARVE_LONG=1 faults last as long as the specs' names say, else less.
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

// long reports whether faults last for as long as a lab may see them.
func long() bool { return os.Getenv("VARVE_LONG") != "" }

// either returns the second value if faults run at full length.
func either[T any](short, full T) T {
	if long() {
		return full
	}
	return short
}
