package archiver

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
)

var serviceMonitor = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}

// monitorsInterval is how often the operator checks for the CRD of ServiceMonitors while it
// does not exist. The Prometheus operator may be installed later.
const monitorsInterval = time.Minute

// serviceMonitors finds ServiceMonitors, whose CRD may be installed or removed at any
// time.
type serviceMonitors struct {
	mu      sync.Mutex
	missing time.Time // when the CRD was last found to be missing
}

// list adds the ServiceMonitors of an Archiver to live, and reports whether their CRD
// exists.
func (s *serviceMonitors) list(ctx context.Context, from client.Client, a *v1alpha1.Archiver, live map[childKey]client.Object) (exist bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.missing) < monitorsInterval {
		return false, nil
	}
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(serviceMonitor.GroupVersion().WithKind(serviceMonitor.Kind + "List"))
	err = from.List(ctx, found, client.InNamespace(a.Namespace), client.MatchingLabels{v1alpha1.LabelArchiver: a.Name})
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		s.missing = time.Now()
		return false, nil
	case err != nil:
		return false, fmt.Errorf("listing ServiceMonitors: %w", err)
	}
	for i := range found.Items {
		if o := &found.Items[i]; metav1.IsControlledBy(o, a) {
			live[childKey{serviceMonitor.Kind, o.GetName()}] = o
		}
	}
	return true, nil
}
