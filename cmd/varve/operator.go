package main

import (
	"errors"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"varve.dev/varve/controllers"
)

// operatorOptions are what the flags of `varve operator` set.
type operatorOptions struct {
	controllers.Options
	kubeconfig string
}

func newOperator() *cobra.Command {
	var logs logFlags
	var o operatorOptions
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Run the archives of a cluster",
		Long: `Makes Archivers and ArchiveGroups what they say: it runs engine and retrieval
pods, divides the PVs of all groups into shards, and gives the shards to engines.
It is installed once per cluster, by the chart varve-operator. While it is away,
engines go on capturing.

Of several operators one works and the others stand by: the Lease varve-operator
in their namespace decides. The operator reads no Secrets.

HTTP: /metrics at --metrics-bind-address; /healthz and /readyz at
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
				return errors.New("--image: it is needed, for Archivers that name none")
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
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "file that says how to reach the API server (default: as the pod's service account)")
	f.StringVar(&o.Image, "image", os.Getenv("VARVE_IMAGE"), "image of Archivers that name none (default: VARVE_IMAGE)")
	f.StringSliceVar(&o.Namespaces, "namespaces", nil, "namespaces to look at: A,B (default: all)")
	f.BoolVar(&o.LeaderElect, "leader-elect", false, "let one of several operators work")
	f.StringVar(&o.Metrics, "metrics-bind-address", ":8080", "address to serve metrics at; 0: none")
	f.StringVar(&o.Probes, "health-probe-bind-address", ":8081", "address to serve probes at; 0: none")
	logs.add(cmd)
	return cmd
}
