package requests

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/mirror"
	"varve.dev/varve/engine/policy"
	"varve.dev/varve/engine/serve/edit"
)

// cluster is an API server with a service account that has the rights of retrieval pods, and those that the chart grants for
// requests to the group scripts.
type cluster struct {
	*WithT
	t      *testing.T
	admin  client.Client
	pod    client.Client
	editor *Editor
	names  []string // of groups that accept requests
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: it names the folder with kube-apiserver and etcd")
	}
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	ctrllog.SetLogger(klog.Background())
	c := &cluster{WithT: NewWithT(t), t: t, names: []string{"scripts"}}
	env := &envtest.Environment{
		CRDDirectoryPaths: []string{filepath.Join("..", "..", "charts", "varve-operator", "files", "crds")}, ErrorIfCRDPathMissing: true,
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: 2 * time.Minute},
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute,
	}
	cfg, err := env.Start()
	c.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { c.Expect(env.Stop()).To(Succeed()) })
	c.Expect(v1alpha1.AddToScheme(scheme.Scheme)).To(Succeed())
	c.admin, err = client.New(cfg, client.Options{Scheme: scheme.Scheme})
	c.Expect(err).NotTo(HaveOccurred())
	const account = "system:serviceaccount:default:main-retrieval"
	groups := []string{v1alpha1.GroupVersion.Group}
	c.grant(account, "main-retrieval", rbacv1.PolicyRule{APIGroups: groups, Resources: []string{"archivegroups"}, Verbs: []string{"get", "list", "watch"}})
	c.grant(account, "main-requests", rbacv1.PolicyRule{APIGroups: groups, Resources: []string{"archivegroups"}, ResourceNames: []string{"scripts"}, Verbs: []string{"patch"}})
	pod := rest.CopyConfig(cfg)
	pod.Impersonate = rest.ImpersonationConfig{UserName: account, Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	c.pod, err = mirror.NewClient(pod)
	c.Expect(err).NotTo(HaveOccurred())
	c.editor = &Editor{
		Client: c.pod, Namespace: "default", Archiver: "main", Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Accepting: func() ([]string, bool) { return c.names, true },
		Policies:  func() (*policy.Set, bool) { return nil, true },
	}
	return c
}

func (c *cluster) grant(user, name string, rule rbacv1.PolicyRule) {
	c.t.Helper()
	meta := metav1.ObjectMeta{Namespace: "default", Name: name}
	c.Expect(c.admin.Create(c.t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}})).To(Succeed())
	c.Expect(c.admin.Create(c.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})).To(Succeed())
}

// group creates a group, which accepts requests of ann.
func (c *cluster) group(name, archiver string, channels ...v1alpha1.Channel) {
	c.t.Helper()
	c.Expect(c.admin.Create(c.t.Context(), &v1alpha1.ArchiveGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: v1alpha1.ArchiveGroupSpec{
			ArchiverRef: v1alpha1.ArchiverReference{Name: archiver}, Channels: channels,
			Requests: &v1alpha1.ChangeRequests{Users: []v1alpha1.AccessName{"ann"}},
		},
	})).To(Succeed())
}

func (c *cluster) get(name string) *v1alpha1.ArchiveGroup {
	c.t.Helper()
	g := &v1alpha1.ArchiveGroup{}
	c.Expect(c.admin.Get(c.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, g)).To(Succeed())
	return g
}

func (c *cluster) channels(name string) (names []string) {
	for i := range c.get(name).Spec.Channels {
		names = append(names, c.get(name).Spec.Channels[i].Name)
	}
	return names
}

func request(action edit.Action, channels ...edit.Channel) *edit.Request {
	return &edit.Request{Action: action, Channels: channels, User: "ann"}
}

// TestRequestsChangeTheAPIServer checks edits against a real API server, with the rights of a pod.
func TestRequestsChangeTheAPIServer(t *testing.T) {
	c := startCluster(t)
	c.group("scripts", "main", v1alpha1.Channel{Name: "OLD"})
	c.group("foreign", "other")
	t.Run("Edit", func(*testing.T) { c.edits() })
	t.Run("Concurrent", func(*testing.T) { c.concurrent() })
	t.Run("Refused", func(*testing.T) { c.refused() })
	t.Run("Unknown", func(*testing.T) { c.unknown() })
}

// edits adds and pauses PVs. The API server notes who has set the fields, and keeps the others.
func (c *cluster) edits() {
	results, err := c.editor.Edit(c.t.Context(), request(edit.Archive, edit.Channel{PV: "A", Sampling: &edit.Sampling{Method: edit.Scan, Period: 5 * time.Second}}, edit.Channel{PV: "OLD"}))
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(results).To(Equal([]edit.Result{
		{Outcome: edit.Done, Group: "default/scripts"}, {Outcome: edit.Unchanged, Group: "default/scripts", Reason: "ArchiveGroup default/scripts archives PV OLD already"},
	}))
	results, err = c.editor.Edit(c.t.Context(), request(edit.Pause, edit.Channel{PV: "A"}, edit.Channel{PV: "OLD"}))
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(results[0].Outcome).To(Equal(edit.Done))
	g := c.get("scripts")
	c.Expect(g.Spec.Channels).To(HaveLen(2))
	a := g.Spec.Channels[1]
	c.Expect(a.Name).To(Equal("A"))
	c.Expect(*a.Paused).To(BeTrue())
	c.Expect(a.Sampling.Mode).To(Equal(v1alpha1.Scan))
	c.Expect(*a.Sampling.Period).To(BeEquivalentTo("5s"))
	c.Expect(g.Spec.Requests).NotTo(BeNil())
	i := slices.IndexFunc(g.ManagedFields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == FieldManager })
	c.Expect(i).To(BeNumerically(">=", 0), "the managers are %+v", g.ManagedFields)
	c.Expect(g.ManagedFields[i].FieldsV1.GetRawString()).To(And(ContainSubstring(`k:{\"name\":\"A\"}`), Not(ContainSubstring("f:requests"))))
}

// concurrent sends many requests at once, while somebody else edits the group. None is lost.
func (c *cluster) concurrent() {
	const n = 3
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			results, err := c.editor.Edit(c.t.Context(), request(edit.Archive, edit.Channel{PV: fmt.Sprintf("N%d", i)}))
			if err != nil || results[0].Outcome != edit.Done {
				c.t.Errorf("request %d: %+v %v", i, results, err)
			}
		})
	}
	all.Wait()
	c.Expect(c.channels("scripts")).To(ConsistOf("OLD", "A", "N0", "N1", "N2"))

	// Somebody changes the group between the read and the write of every try.
	alone, tries := c.editor.Client, 0
	defer func() { c.editor.Client = alone }()
	c.editor.Client = interrupted{alone, func() {
		g := c.get("scripts")
		g.Annotations = map[string]string{"edited": fmt.Sprint(tries)}
		c.Expect(c.admin.Update(c.t.Context(), g)).To(Succeed())
		tries++
	}}
	results, err := c.editor.Edit(c.t.Context(), request(edit.Archive, edit.Channel{PV: "BUSY"}))
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(results[0].Outcome).To(Equal(edit.Refused))
	c.Expect(results[0].Reason).To(ContainSubstring("others changed ArchiveGroup default/scripts 5 times meanwhile"))
	c.Expect(tries).To(Equal(maxTries))
	c.Expect(c.channels("scripts")).NotTo(ContainElement("BUSY"))
}

// interrupted is a client before whose patches somebody else changes the object.
type interrupted struct {
	client.Client
	meanwhile func()
}

func (i interrupted) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	i.meanwhile()
	return i.Client.Patch(ctx, obj, patch, opts...)
}

// refused checks groups that the pod may not patch, groups of another archive, and PVs that make the object invalid.
func (c *cluster) refused() {
	c.group("norights", "main")
	c.names = []string{"foreign", "gone", "norights", "scripts"}
	defer func() { c.names = []string{"scripts"} }()
	for _, x := range []struct {
		channel edit.Channel
		reason  string
	}{
		{edit.Channel{PV: "B", Group: "norights"}, "the API server does not let the archive change ArchiveGroup default/norights"},
		{edit.Channel{PV: "B", Group: "foreign"}, "parameter policy: no ArchiveGroup foreign accepts requests"},
		{edit.Channel{PV: "B", Group: "scripts", Provider: "XYZ"}, "ArchiveGroup default/scripts would be invalid: "},
	} {
		results, err := c.editor.Edit(c.t.Context(), request(edit.Archive, x.channel))
		c.Expect(err).NotTo(HaveOccurred())
		c.Expect(results[0].Outcome).To(Equal(edit.Refused))
		c.Expect(results[0].Reason).To(HavePrefix(x.reason))
	}
	// A request for two groups changes the one that it may change.
	results, err := c.editor.Edit(c.t.Context(), request(edit.Archive, edit.Channel{PV: "B", Group: "norights"}, edit.Channel{PV: "B2", Group: "scripts"}))
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect([]edit.Outcome{results[0].Outcome, results[1].Outcome}).To(Equal([]edit.Outcome{edit.Refused, edit.Done}))
	c.Expect(c.channels("norights")).To(BeEmpty())
	c.Expect(c.channels("scripts")).To(ContainElement("B2"))
}

// unknown checks that nothing is changed before the API server has answered.
func (c *cluster) unknown() {
	e := *c.editor
	e.Accepting = func() ([]string, bool) { return nil, false }
	p := *c.editor
	p.Policies = func() (*policy.Set, bool) { return nil, false }
	many := *c.editor
	many.Accepting = func() ([]string, bool) { return strings.Fields(strings.Repeat("scripts ", maxGroups+1)), true }
	for editor, code := range map[*Editor]int{&e: http.StatusServiceUnavailable, &p: http.StatusServiceUnavailable, &many: http.StatusForbidden} {
		_, err := editor.Edit(c.t.Context(), request(edit.Archive, edit.Channel{PV: "C"}))
		var refusal *edit.Refusal
		if !errors.As(err, &refusal) || refusal.Code != code {
			c.t.Errorf("%v, want %d", err, code)
		}
	}
	c.Expect(c.channels("scripts")).NotTo(ContainElement("C"))
}
