package mirror

import (
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
)

// NewClient returns a client for the kinds that engine and retrieval pods use. It sends no
// requests by itself, so that a pod can start while the API server is down.
func NewClient(cfg *rest.Config) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(v1alpha1.GroupVersion.WithKind(v1alpha1.KindArchiveShard), meta.RESTScopeNamespace)
	mapper.Add(v1alpha1.GroupVersion.WithKind(v1alpha1.KindArchiveGroup), meta.RESTScopeNamespace)
	mapper.Add(v1alpha1.GroupVersion.WithKind(v1alpha1.KindArchivePolicy), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	mapper.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	own := rest.CopyConfig(cfg)
	own.QPS = -1 // API priority and fairness limits the rate; callers limit the parallelism
	c, err := client.NewWithWatch(own, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("creating the client of the API server: %w", err)
	}
	return c, nil
}
