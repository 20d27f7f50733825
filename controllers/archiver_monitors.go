package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var serviceMonitorGVK = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: kindServiceMonitor}

// serviceMonitors knows whether their CRD exists. It asks once a minute, for
// Prometheus' operator may come later.
type serviceMonitors struct {
	mu    sync.Mutex
	asked time.Time
	has   bool
}

func (s *serviceMonitors) exist(mapper meta.RESTMapper) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.asked) < time.Minute {
		return s.has
	}
	_, err := mapper.RESTMapping(serviceMonitorGVK.GroupKind(), serviceMonitorGVK.Version)
	if err == nil || meta.IsNoMatchError(err) { // else the answer of before stays
		s.has = err == nil
	}
	s.asked = time.Now()
	return s.has
}
