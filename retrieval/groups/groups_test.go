package groups

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/mirror"
	"varve.dev/varve/engine/serve/overview"
)

// TestGroupsFollowTheAPIServer checks that a pod shows the groups of its archive, their changes and their
// deletion, and reads the PVs of a group only on request.
func TestGroupsFollowTheAPIServer(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: it names the folder with kube-apiserver and etcd")
	}
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	ctrllog.SetLogger(klog.Background())
	o := NewWithT(t)
	o.SetDefaultEventuallyTimeout(2 * time.Minute)
	env := &envtest.Environment{
		CRDDirectoryPaths: []string{filepath.Join("..", "..", "charts", "varve-operator", "files", "crds")}, ErrorIfCRDPathMissing: true,
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: 2 * time.Minute},
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute,
	}
	cfg, err := env.Start()
	o.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { o.Expect(env.Stop()).To(Succeed()) })
	c, err := mirror.NewClient(cfg)
	o.Expect(err).NotTo(HaveOccurred())
	g := New(c, "default", "main")
	if list, missing := g.All(); len(list) > 0 || !strings.Contains(missing, "API server") {
		t.Errorf("before the first list there are %v, missing %q", list, missing)
	}
	create := func(name, archiver string, pvs ...string) *v1alpha1.ArchiveGroup {
		obj := &v1alpha1.ArchiveGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: v1alpha1.ArchiveGroupSpec{ArchiverRef: v1alpha1.ArchiverReference{Name: archiver}}}
		for _, pv := range pvs {
			obj.Spec.Channels = append(obj.Spec.Channels, v1alpha1.Channel{Name: pv})
		}
		o.Expect(c.Create(t.Context(), obj)).To(Succeed())
		return obj
	}
	create("other", "another", "X")
	vacuum := create("vacuum", "main", "A", "B")
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { g.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	listed := func(count int) func() bool {
		return func() bool {
			list, missing := g.All()
			return missing == "" && len(list) == 1 && list[0].Group == "default/vacuum" && list[0].Settings.Channels == count && list[0].Manifest == "" && list[0].Spec == nil
		}
	}
	o.Eventually(listed(2)).Should(BeTrue())
	whole, err := g.One(t.Context(), "default/vacuum")
	if err != nil || !strings.Contains(whole.Manifest, "- name: B\n") {
		t.Errorf("the group is %+v: %v", whole, err)
	}
	vacuum.Spec.Channels = append(vacuum.Spec.Channels, v1alpha1.Channel{Name: "C"})
	o.Expect(c.Update(t.Context(), vacuum)).To(Succeed())
	o.Eventually(listed(3)).Should(BeTrue())
	o.Expect(c.Delete(t.Context(), vacuum)).To(Succeed())
	o.Eventually(func() []overview.Group { list, _ := g.All(); return list }).Should(BeEmpty())
	if _, err := g.One(t.Context(), "default/vacuum"); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("a deleted group gives %v", err)
	}
}
