package mirror

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
)

// Client is a client for the kinds that engine and retrieval pods use. Create it with NewClient.
type Client struct {
	client.WithWatch
	discovery rest.Interface
}

// NewClient returns a client for the kinds that engine and retrieval pods use. It sends no
// requests by itself, so that a pod can start while the API server is down.
func NewClient(cfg *rest.Config) (*Client, error) {
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
	d, err := discovery.NewDiscoveryClientForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("creating the client for discovery: %w", err)
	}
	return &Client{c, d.RESTClient()}, nil
}

// Verbs returns what the API server lets clients do with a resource, such as "archivepolicies": none if it does not have the
// resource. While the CRD of a resource is being deleted, create and update are missing. Kubernetes lets all accounts
// read this.
func (c *Client) Verbs(ctx context.Context, of schema.GroupVersion, resource string) ([]string, error) {
	var all metav1.APIResourceList
	if err := c.discovery.Get().AbsPath("apis", of.Group, of.Version).Do(ctx).Into(&all); err != nil {
		return nil, fmt.Errorf("reading which resources %s has: %w", of, err)
	}
	for i := range all.APIResources {
		if all.APIResources[i].Name == resource {
			return all.APIResources[i].Verbs, nil
		}
	}
	return nil, nil
}
