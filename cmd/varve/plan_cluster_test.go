package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	kube "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"varve.dev/varve/api/v1alpha1"
)

// startAPIServer starts a real API server with the CRDs, which ends with the test. Without one, the test is skipped.
func startAPIServer(t *testing.T) *envtest.Environment {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: it names the folder with kube-apiserver and etcd")
	}
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	ctrllog.SetLogger(klog.Background())
	g := NewWithT(t)
	env := &envtest.Environment{
		CRDDirectoryPaths: []string{filepath.Join("..", "..", "charts", "varve-operator", "files", "crds")}, ErrorIfCRDPathMissing: true,
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: 2 * time.Minute},
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute,
	}
	_, err := env.Start()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(env.Stop()).To(Succeed()) })
	return env
}

// TestLong_PlanOfACluster compares files with the groups, ConfigMaps and policies of a real API server.
func TestLong_PlanOfACluster(t *testing.T) {
	g := NewWithT(t)
	env := startAPIServer(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "kubeconfig")
	g.Expect(os.WriteFile(config, env.KubeConfig, 0o600)).To(Succeed())
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
	c, err := kube.New(env.Config, kube.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())

	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "beamline"} }
	create := func(obj kube.Object) {
		t.Helper()
		g.Expect(c.Create(t.Context(), obj)).To(Succeed())
	}
	create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "beamline"}})
	lists := named("pvs")
	lists.Labels = map[string]string{v1alpha1.LabelChannels: "true"}
	create(&corev1.ConfigMap{ObjectMeta: lists, Data: map[string]string{"list": "BL:1\nBL:2\n"}})
	archiver := &v1alpha1.Archiver{ObjectMeta: named("main")}
	archiver.Spec.Storage.Embedded = &v1alpha1.EmbeddedSpec{}
	create(archiver)
	ref := v1alpha1.ArchiverReference{Name: "main"}
	create(&v1alpha1.ArchiveGroup{ObjectMeta: named("vacuum"), Spec: v1alpha1.ArchiveGroupSpec{
		ArchiverRef: ref, ChannelsFrom: []v1alpha1.ChannelSource{{ConfigMap: &v1alpha1.ConfigMapSource{Name: "pvs"}}},
	}})
	create(&v1alpha1.ArchiveGroup{ObjectMeta: named("rf"), Spec: v1alpha1.ArchiveGroupSpec{
		ArchiverRef: ref, Channels: []v1alpha1.Channel{{Name: "BL:RF"}}, DeletionPolicy: v1alpha1.DeleteData,
	}})
	owns := func(group string, prefix v1alpha1.PVPrefix) {
		t.Helper()
		create(&v1alpha1.ArchivePolicy{ObjectMeta: named(group), Spec: v1alpha1.ArchivePolicySpec{
			ArchiverRef: ref, Prefixes: []v1alpha1.PVPrefix{prefix}, Owners: v1alpha1.PolicyOwners{ArchiveGroups: []string{group}, Groups: []v1alpha1.AccessName{"ops"}},
		}})
	}
	owns("magnets", "BL:MAG:")
	owns("rf", "BL:RF") // only an owner may delete data where there are policies

	wrong := &v1alpha1.ArchiveGroup{ObjectMeta: named("wrong"), Spec: v1alpha1.ArchiveGroupSpec{ArchiverRef: ref}}
	wrong.Spec.Pauses = []v1alpha1.PlannedPause{{From: new(metav1.Unix(2e9, 0)), To: new(metav1.Unix(1e9, 0)), Reason: "shutdown", Match: "("}}
	wrong.Spec.Rules = []v1alpha1.Rule{{Match: "(", Sampling: &v1alpha1.Sampling{Deadband: &v1alpha1.Deadband{Heartbeat: new(v1alpha1.Duration("1m"))}}}}
	g.Expect(c.Create(t.Context(), wrong)).To(MatchError(And(
		ContainSubstring("spec.pauses[0].to: Invalid value: to must be after from"), ContainSubstring("spec.pauses[0].match: Invalid value"),
		ContainSubstring("spec.rules[0].match: Invalid value"), ContainSubstring("spec.rules[0].sampling.deadband.heartbeat: Invalid value: heartbeat requires"),
	)))

	files := filepath.Join(dir, "groups")
	g.Expect(os.Mkdir(files, 0o755)).To(Succeed())
	writeGroup(t, files, "vacuum", "  channelsFrom: [{configMap: {name: pvs}}]\n  rules: [{match: '[12]$', sampling: {maxRate: 5}}]\n", "BL:3", "BL:MAG:1")
	args := []string{"plan", "-f", files, "--kubeconfig", config, "--namespace", "beamline", "--archiver", "main"}
	out, _, err := varve(t, args...)
	if exitCode(err) != exitProblems {
		t.Errorf("the plan ends with %v", err)
	}
	for _, want := range []string{
		"4 PVs: 1 added, 0 removed, 2 changed, 0 moved, 1 unchanged\n", "BL:3  beamline/vacuum\n", "BL:1  beamline/vacuum rules[0]; sampling.maxRate: none → 5\n",
		"beamline/vacuum: BL:MAG:1: ArchivePolicy magnets does not let this group archive it\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the plan lacks %q:\n%s", want, out)
		}
	}
	out, _, _ = varve(t, append(args, "--prune")...)
	if !strings.Contains(out, "the stored data of 1 PVs would be DELETED\n") || !strings.Contains(out, "BL:RF  beamline/rf; DATA DELETED\n") {
		t.Errorf("with --prune:\n%s", out)
	}
	if _, _, err := varve(t, append(args, "--archiver", "other")...); exitCode(err) != exitFailed || !strings.Contains(err.Error(), "reading the Archiver") {
		t.Errorf("an Archiver that does not exist gives %v", err)
	}
}
