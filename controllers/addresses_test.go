package controllers

import (
	"fmt"
	"testing"
)

// TestAPIServerIsNoChannelFinder checks that the operator knows the addresses of the API server, in and
// outside of a cluster.
func TestAPIServerIsNoChannelFinder(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
	for host, want := range map[string]string{
		"https://10.96.0.1:443":         "[10.96.0.1 10.96.0.1]",
		"https://[fd00::1]:6443":        "[10.96.0.1 fd00::1]",
		"192.0.2.1:6443":                "[10.96.0.1 192.0.2.1]",
		"https://k8s.example.org:6443/": "[10.96.0.1]",
		"":                              "[10.96.0.1]",
	} {
		if got := fmt.Sprint(channelFinderAddresses(host, false).Refused); got != want {
			t.Errorf("%q: %s, want %s", host, got, want)
		}
	}
}
