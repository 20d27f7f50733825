package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/api/v1alpha1"
	jobs "varve.dev/varve/controllers/render"
)

// importJobOptions are the flags of `varve import job`.
type importJobOptions struct {
	archiver string
	image    string
	job      jobs.Import
}

func newImportJob() *cobra.Command {
	var o importJobOptions
	cmd := &cobra.Command{
		Use:   "job --archiver FILE (--claim NAME | --host-path DIR) [-- FLAG…]",
		Short: "Print the manifest of a Job that imports files in a cluster",
		Long: `Prints the manifest of a Job, which runs varve import data in the namespace of an Archiver
whose archive is in Cassandra. The Job has the image, the storage flags and the credentials
of the Archiver. It mounts the files of an Archiver Appliance read-only. FLAGs are further
flags of varve import data, such as --verify and --rate.

If the import fails, for example because Cassandra is away for long, Kubernetes starts it
again, and it continues where it was. If some files or lines cannot be read, the Job imports
everything else and then fails with exit code 1; its log names them.`,
		Example: `  kubectl get archiver main -n epics -o yaml > archiver.yaml
  varve import job --archiver archiver.yaml --claim appliance-files -- --verify | kubectl apply -f -
  varve import job --archiver archiver.yaml --host-path /arch --node archive01 --user 1000 -- --pv 'SR01:*' > import.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.job.Args = args
			return o.print(cmd)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.archiver, "archiver", "", "file with the Archiver, as kubectl get -o yaml prints it (required)")
	f.StringVar(&o.image, "image", "", "image of the engines (default: spec.image of the Archiver)")
	f.StringVar(&o.job.Name, "name", "", "name of the Job (default: the name of the Archiver with -import)")
	f.StringVar(&o.job.Claim, "claim", "", "PersistentVolumeClaim with the files")
	f.StringVar(&o.job.HostPath, "host-path", "", "directory with the files on a node")
	f.StringVar(&o.job.Node, "node", "", "node of --host-path")
	f.StringVar(&o.job.SubPath, "path", "", "folder with the files in the claim or the directory")
	f.Int64Var(&o.job.User, "user", 0, "number of the user that may read the files (default: the user of the image)")
	f.Int64Var(&o.job.Group, "group", 0, "number of the group that may read the files (default: the group of the image)")
	_ = cmd.MarkFlagRequired("archiver")
	return cmd
}

func (o *importJobOptions) print(cmd *cobra.Command) error {
	text, err := os.ReadFile(o.archiver)
	if err != nil {
		return fmt.Errorf("--archiver: %w", err)
	}
	var a v1alpha1.Archiver
	if err := yaml.Unmarshal(text, &a); err != nil {
		return fmt.Errorf("--archiver: %s: %w", o.archiver, err)
	}
	if err := o.check(&a); err != nil {
		return err
	}
	manifest, err := yaml.Marshal(jobs.ImportJob(jobs.Input{Archiver: &a, Image: o.image}, o.job))
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(manifest)
	return err
}

func (o *importJobOptions) check(a *v1alpha1.Archiver) error {
	if o.job.SubPath != "" {
		o.job.SubPath = path.Clean("/" + o.job.SubPath)
	}
	if o.job.Name == "" {
		o.job.Name = a.Name + "-import"
	}
	switch {
	case a.Kind != "Archiver" || a.Name == "" || a.Namespace == "":
		return fmt.Errorf("--archiver: %s is not one Archiver with a name and a namespace", o.archiver)
	case a.Spec.Storage.Cassandra == nil:
		return fmt.Errorf("--archiver: the archive of %s is not in Cassandra; while no engine runs, import into its directory with varve import data --data", a.Name)
	case a.Spec.Image == "" && o.image == "":
		return errors.New("--image: the Archiver has no spec.image: give the image of the engines, which kubectl get pods -o yaml shows")
	case a.Spec.Shards < 1:
		return fmt.Errorf("--archiver: %s has no spec.shards: give the Archiver as kubectl get -o yaml prints it", o.archiver)
	}
	return o.checkJob()
}

// checkJob checks the flags that describe the Job itself.
func (o *importJobOptions) checkJob() error {
	switch {
	case (o.job.Claim == "") == (o.job.HostPath == ""):
		return errors.New("--claim and --host-path: give one of them")
	case o.job.HostPath != "" && (!path.IsAbs(o.job.HostPath) || o.job.Node == ""):
		return errors.New("--host-path: give an absolute path, and the --node that has it")
	case o.job.Claim != "" && o.job.Node != "":
		return errors.New("--node is for --host-path only")
	case o.job.User < 0 || o.job.Group < 0:
		return errors.New("--user and --group must not be negative")
	}
	for _, arg := range o.job.Args {
		for _, own := range []string{"--cassandra", "--data", "--from", "--shards"} {
			if strings.HasPrefix(arg, own) {
				return fmt.Errorf("%s: the Job has this flag already", arg)
			}
		}
	}
	return nil
}
