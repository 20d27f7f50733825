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
	kube "sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"varve.dev/varve/cluster/mirror"
	"varve.dev/varve/engine/loglimit"
)

// clusterOptions say which archive of which cluster a pod is of.
type clusterOptions struct {
	kubeconfig          string
	namespace, archiver string
	shards              int
}

func (o *clusterOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "file that says how to reach the API server (default: as the pod's service account)")
	f.StringVar(&o.namespace, "namespace", "", "namespace of the Archiver (needed)")
	f.StringVar(&o.archiver, "archiver", "", "name of the Archiver (needed)")
	f.IntVar(&o.shards, "shards", 64, "number of shards of the Archiver")
}

func (o *clusterOptions) check() error {
	for _, f := range []struct{ flag, name string }{{"--namespace", o.namespace}, {"--archiver", o.archiver}} {
		if err := checkName(f.flag, f.name); err != nil {
			return err
		}
	}
	if o.shards < 1 || o.shards > 4096 {
		return fmt.Errorf("--shards: %d is not in 1 to 4096", o.shards)
	}
	return nil
}

// checkName checks the name of an object, which may stand in a label.
func checkName(flag, name string) error {
	if name == "" {
		return fmt.Errorf("%s: it is needed", flag)
	}
	if why := validation.IsDNS1123Label(name); len(why) > 0 {
		return fmt.Errorf("%s: %q is not a name: %s", flag, name, why[0])
	}
	return nil
}

// connect returns a client of the API server, which may be away.
func (o *clusterOptions) connect() (kube.WithWatch, error) {
	cfg, err := clusterConfig(o.kubeconfig)
	if err != nil {
		return nil, err
	}
	return mirror.NewClient(cfg)
}

// clusterConfig says how to reach the API server: by a file, or as the pod's
// service account.
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
		return nil, fmt.Errorf("--kubeconfig: it is needed outside of a cluster: %w", err)
	}
	return cfg, nil
}

// logKubernetes sends what the libraries of Kubernetes log to the log of the
// program, which has the same complaint now and then only.
func logKubernetes(log *slog.Logger) {
	h := loglimit.New(log.Handler(), 10*time.Second)
	klog.SetSlogLogger(slog.New(h))
	ctrllog.SetLogger(logr.FromSlogHandler(h))
}
