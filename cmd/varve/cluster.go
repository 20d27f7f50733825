package main

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"varve.dev/varve/cluster/mirror"
	"varve.dev/varve/engine/loglimit"
)

// clusterOptions select the cluster and the archive of a pod.
type clusterOptions struct {
	kubeconfig          string
	namespace, archiver string
	shards              int
}

func (o *clusterOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file (default: the service account of the pod)")
	f.StringVar(&o.namespace, "namespace", "", "namespace of the Archiver (required)")
	f.StringVar(&o.archiver, "archiver", "", "name of the Archiver (required)")
	f.IntVar(&o.shards, "shards", 64, "number of shards of the Archiver")
}

func (o *clusterOptions) check() error {
	for _, f := range []struct{ flag, name string }{{"--namespace", o.namespace}, {"--archiver", o.archiver}} {
		if err := checkName(f.flag, f.name); err != nil {
			return err
		}
	}
	if o.shards < 1 || o.shards > 4096 {
		return fmt.Errorf("--shards: %d is not between 1 and 4096", o.shards)
	}
	return nil
}

// archive returns the name of the archive in files that clients save.
func (o *clusterOptions) archive() string { return o.namespace + "/" + o.archiver }

// checkName checks the name of an object. It must be usable as a label value.
func checkName(flag, name string) error {
	if name == "" {
		return fmt.Errorf("%s is required", flag)
	}
	if why := validation.IsDNS1123Label(name); len(why) > 0 {
		return fmt.Errorf("%s: %q is not a valid name: %s", flag, name, why[0])
	}
	return nil
}

// connect returns a client of the API server. It does not need the API server to be reachable.
func (o *clusterOptions) connect() (*mirror.Client, error) {
	cfg, err := clusterConfig(o.kubeconfig)
	if err != nil {
		return nil, err
	}
	return mirror.NewClient(cfg)
}

// clusterConfig returns the configuration for the API server: from a kubeconfig file, or from
// the service account of the pod.
func clusterConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("--kubeconfig: %w", err)
		}
		return cfg, nil
	}
	cfg, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig is required outside of a cluster: %w", err)
	}
	return cfg, nil
}

// logKubernetes redirects the logs of the Kubernetes libraries to the program's log, with a
// rate limit for repeated messages.
func logKubernetes(log *slog.Logger) {
	h := loglimit.New(log.Handler(), 10*time.Second)
	klog.SetSlogLogger(slog.New(h))
	ctrllog.SetLogger(logr.FromSlogHandler(h))
}
