package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	objects "varve.dev/varve/controllers/render"
)

// pluginName is the name of the program as a plugin of kubectl.
const pluginName = "kubectl-varve"

// rootOf returns the root command for the name with which the program was started.
func rootOf(program string) *cobra.Command {
	if name := strings.TrimSuffix(filepath.Base(program), ".exe"); name == pluginName {
		return newPlugin()
	}
	return newRoot()
}

// newPlugin returns the commands of the plugin of kubectl.
func newPlugin() *cobra.Command {
	cluster := &clusterArchive{}
	root := &cobra.Command{
		Use:         pluginName,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl varve"},
		Short:       "Look into an archive of Varve in a cluster",
		Long: `Finds the archive in the cluster of your kubeconfig, and asks it through the API server. No port
has to be reachable from your machine.

  kubectl varve status   show groups, channels or shard moves
  kubectl varve why PV   say why a PV has no samples, or when the last one came

You need the rights to list archivers.varve.dev in the namespace (to get one, with --archiver), and
to get services/proxy of the Service ARCHIVER-retrieval there.

Your token for the API server does not reach the archive. If the archive admits only known readers,
forward its port and give your token for the archive:

  kubectl port-forward service/ARCHIVER-retrieval 17665:appliance
  kubectl varve why PV --url http://127.0.0.1:17665 --token-file FILE`,
		Version:      version(),
		SilenceUsage: true, SilenceErrors: true,
	}
	cluster.add(root.PersistentFlags())
	root.AddCommand(newStatus(cluster), newWhy(cluster), newVersion())
	return root
}

// clusterArchive is an archive that is read through the API server of its cluster. It is found at the first request.
type clusterArchive struct {
	kubeconfig, context, namespace, archiver string

	base   string // the URL of the archive at the API server
	client *http.Client
}

func (a *clusterArchive) add(f *pflag.FlagSet) {
	f.StringVar(&a.kubeconfig, "kubeconfig", "", "kubeconfig file (default: as for kubectl)")
	f.StringVar(&a.context, "context", "", "context of the kubeconfig (default: the current one)")
	f.StringVarP(&a.namespace, "namespace", "n", "", "namespace of the Archiver (default: that of the context)")
	f.StringVar(&a.archiver, "archiver", "", "name of the Archiver (default: the only one in the namespace)")
}

// open finds the archive.
func (a *clusterArchive) open(ctx context.Context) error {
	if a.client != nil {
		return nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: a.context})
	cfg, err := loaded.ClientConfig()
	if err != nil {
		return fmt.Errorf("--kubeconfig, --context: %w", err)
	}
	if a.namespace == "" {
		if a.namespace, _, err = loaded.Namespace(); err != nil {
			return fmt.Errorf("--namespace: %w", err)
		}
	}
	server, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return fmt.Errorf("the server in the kubeconfig: %w", err)
	}
	c, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return fmt.Errorf("connecting to the API server: %w", err)
	}
	c.CheckRedirect = refuseRedirect
	archiver, err := a.find(ctx, cfg)
	if err != nil {
		return err
	}
	a.base = strings.TrimRight(server.String(), "/") + proxyPath(archiver)
	a.client = c
	return nil
}

// proxyPath is the path at which the API server passes requests on to the Service of an archive.
func proxyPath(a *v1alpha1.Archiver) string {
	scheme, _, _ := strings.Cut(objects.URL(a), ":")
	return fmt.Sprintf("/api/v1/namespaces/%s/services/%s:%s:%s/proxy", a.Namespace, scheme, objects.RetrievalName(a.Name), objects.AppliancePortName)
}

// find returns the Archiver.
func (a *clusterArchive) find(ctx context.Context, cfg *rest.Config) (*v1alpha1.Archiver, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering types: %w", err)
	}
	c, err := kube.New(cfg, kube.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	if a.archiver != "" {
		var one v1alpha1.Archiver
		err := c.Get(ctx, kube.ObjectKey{Namespace: a.namespace, Name: a.archiver}, &one)
		if apierrors.IsForbidden(err) {
			err = fmt.Errorf("%w; you need the right to get archivers.varve.dev in namespace %s", err, a.namespace)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the Archiver: %w", err)
		}
		return &one, nil
	}
	var all v1alpha1.ArchiverList
	switch err := c.List(ctx, &all, kube.InNamespace(a.namespace)); {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("listing Archivers: %w; you need the right to list archivers.varve.dev in namespace %s, or to get the one that --archiver names", err, a.namespace)
	case err != nil:
		return nil, fmt.Errorf("listing Archivers: %w", err)
	}
	return a.only(all.Items)
}

// only returns the Archiver of a list of one.
func (a *clusterArchive) only(all []v1alpha1.Archiver) (*v1alpha1.Archiver, error) {
	switch len(all) {
	case 0:
		return nil, fmt.Errorf("namespace %s has no Archiver; name another namespace with -n", a.namespace)
	case 1:
		return &all[0], nil
	}
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	return nil, fmt.Errorf("namespace %s has the Archivers %s; name one with --archiver", a.namespace, strings.Join(names, ", "))
}

// refusedAdvice says what the user can do after an answer with an HTTP status.
func (a *clusterArchive) refusedAdvice(code int) string {
	switch code {
	case http.StatusUnauthorized:
		return fmt.Sprintf("; the archive wants a token, which does not pass through the API server: run kubectl -n %s port-forward service/SERVICE 17665:%s for its Service (ARCHIVER-retrieval), and give --url http://127.0.0.1:17665 and --token-file", a.namespace, objects.AppliancePortName)
	case http.StatusForbidden:
		return fmt.Sprintf("; you need the right to get services/proxy in namespace %s, or the archive admits only known readers: then use kubectl port-forward and --url", a.namespace)
	case http.StatusServiceUnavailable:
		return "; look whether the retrieval pods are ready"
	}
	return ""
}

// refuseRedirect is for requests that carry the credentials for the API server.
func refuseRedirect(*http.Request, []*http.Request) error {
	return errors.New("the API server redirects to another address, which does not get the credentials for it")
}
