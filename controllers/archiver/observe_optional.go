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
	"varve.dev/varve/controllers/render"
)

var (
	serviceMonitor = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}
	certificate    = schema.FromAPIVersionAndKind(render.CertificateAPIVersion, render.KindCertificate)
)

// optionalInterval is how often the operator checks for a CRD of another project while it does not exist. The
// project may be installed later.
const optionalInterval = time.Minute

// optionalKind finds objects of a kind whose CRD may be installed or removed at any time.
type optionalKind struct {
	mu      sync.Mutex
	missing time.Time // when the CRD was last found to be missing
}

// list adds the objects of an Archiver to live, and reports whether their CRD exists.
func (s *optionalKind) list(
	ctx context.Context, from client.Client, kind schema.GroupVersionKind, a *v1alpha1.Archiver, live map[childKey]client.Object,
) (exist bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.missing) < optionalInterval {
		return false, nil
	}
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err = from.List(ctx, found, client.InNamespace(a.Namespace), client.MatchingLabels{v1alpha1.LabelArchiver: a.Name})
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		s.missing = time.Now()
		return false, nil
	case err != nil:
		return false, fmt.Errorf("listing objects of the kind %s: %w", kind.Kind, err)
	}
	for i := range found.Items {
		if o := &found.Items[i]; metav1.IsControlledBy(o, a) {
			live[childKey{kind.Kind, o.GetName()}] = o
		}
	}
	return true, nil
}
