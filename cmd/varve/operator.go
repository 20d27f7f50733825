package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"varve.dev/varve/controllers"
)

// operatorOptions are the flags of `varve operator`.
type operatorOptions struct {
	controllers.Options
	kubeconfig string
	tls        internalTLS
}

func newOperator() *cobra.Command {
	var logs logFlags
	var o operatorOptions
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Run the Kubernetes operator of the archives in a cluster",
		Long: `Reconciles Archivers and ArchiveGroups: it runs engine and retrieval pods, divides the
PVs of all groups into shards, and assigns the shards to engines. The chart
varve-operator installs it once per cluster. While the operator is down, engines
continue to capture.

With --leader-elect one of several operators works and the others stand by, depending
on the Lease varve-operator in their namespace. The operator reads no Secrets.

With --internal-tls-dir, it uses a certificate for engines of Archivers with spec.internalTLS. The
certificate must have the URI spiffe://varve/NAMESPACE/operator, with its own namespace.

It serves /metrics at --metrics-bind-address, and /healthz and /readyz at
--health-probe-bind-address.`,
		Example: `  # As in a pod:
  varve operator --image registry.example.org/varve:v1 --leader-elect

  # By hand, for two namespaces of the cluster that kubectl talks to:
  varve operator --kubeconfig ~/.kube/config --image varve:dev --namespaces vacuum,optics`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logs.logger()
			if err != nil {
				return err
			}
			if o.Image == "" {
				return errors.New("--image is required: Archivers without an image use it")
			}
			for _, n := range o.CassandraNamespaces {
				if problems := validation.IsDNS1123Label(n); len(problems) > 0 {
					return fmt.Errorf("--cassandra-operator-namespace=%s must be names of namespaces: %s", n, problems[0])
				}
			}
			if err := o.identify(log); err != nil {
				return err
			}
			logKubernetes(log)
			o.Log = logr.FromSlogHandler(log.Handler())
			cfg, err := clusterConfig(o.kubeconfig)
			if err != nil {
				return err
			}
			if err := awaitServer(cmd.Context(), cfg, o.Probes, log); err != nil {
				return err
			}
			mgr, err := controllers.NewManager(cfg, o.Options)
			if err != nil {
				return err
			}
			if err := controllers.Setup(mgr, o.Options); err != nil {
				return err
			}
			log.Info("starting", "version", version(), "image", o.Image, "namespaces", o.Namespaces)
			return mgr.Start(cmd.Context())
		},
	}
	o.Pod, o.PodNamespace = os.Getenv("POD_NAME"), os.Getenv("POD_NAMESPACE")
	f := cmd.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file (default: the service account of the pod)")
	f.StringVar(&o.Image, "image", os.Getenv("VARVE_IMAGE"), "image of Archivers that name none (default: the environment variable VARVE_IMAGE)")
	f.StringSliceVar(&o.Namespaces, "namespaces", nil, "namespaces to watch: A,B (default: all)")
	f.StringSliceVar(&o.CassandraNamespaces, "cassandra-operator-namespace", nil, "namespaces of cass-operator and k8ssandra-operator, as A,B: only their pods may reach the management API of managed Cassandra (default: everybody may)")
	f.BoolVar(&o.LeaderElect, "leader-elect", false, "elect a leader among several operators")
	f.StringVar(&o.Metrics, "metrics-bind-address", ":8080", "address of the metrics server (0: none)")
	f.StringVar(&o.Probes, "health-probe-bind-address", ":8081", "address of the probe server (0: none)")
	f.BoolVar(&o.LoopbackChannelFinder, "loopback-channelfinder", false, "allow ArchiveGroups to name a ChannelFinder service on the operator's own machine or in its pod")
	addInternalTLSDir(f, &o.tls.dir)
	logs.add(cmd)
	return cmd
}
