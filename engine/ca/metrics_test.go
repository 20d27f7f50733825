package ca

import (
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"varve.dev/varve/engine/client/clienttest"
)

func TestMetricsShowTheWorkOfTheClient(t *testing.T) {
	server := doubles(nameServerAddr)
	server.lacks = map[string]bool{"NOBODY": true}
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		config := config(clienttest.NewNetwork(server))
		config.Registerer = registry
		c := clienttest.Start(t, New, config)
		clienttest.CheckMetrics(t, c, registry, "varve_ca_", "malformed")
	})
}
