package policies

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/mirror"
)

func named(names ...string) (list []v1alpha1.ArchivePolicy) {
	for _, name := range names {
		list = append(list, v1alpha1.ArchivePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return list
}

// cluster drives a removal under the virtual clock of synctest.
type cluster struct {
	*removal
	t *testing.T

	mu      sync.Mutex
	applied string // "unknown" before the first policies apply
	crdErr  error
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{t: t, applied: "unknown"}
	c.removal = newRemoval(func(list []v1alpha1.ArchivePolicy) {
		var names []string
		for i := range list {
			names = append(names, list[i].Name)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.applied = strings.Join(names, " ")
	}, func(context.Context) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.crdErr
	}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go c.run(ctx)
	return c
}

// crd sets the error of each look for the CRD.
func (c *cluster) crd(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.crdErr = err
}

func (c *cluster) expect(after time.Duration, want string) {
	c.t.Helper()
	time.Sleep(after)
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.applied != want {
		c.t.Errorf("the policies are %q, want %q", c.applied, want)
	}
}

var errNoCRD = errors.New("the CRD is missing")

// half makes the times of a test differ from those of the looks for the CRD, which are whole seconds.
const half = time.Second / 2

// TestPoliciesThatDisappearWithTheirCRDStillApply deletes policies, with and without their CRD.
func TestPoliciesThatDisappearWithTheirCRDStillApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.set(named("a", "b"))
		c.expect(0, "a b")
		c.set(named("a", "b", "c")) // a new one applies at once
		c.expect(0, "a b c")
		c.set(named("b", "c")) // somebody deletes one
		c.expect(removalDelay-half, "b c a")
		c.set(named("c")) // and another one later, which has its own delay
		c.expect(time.Second, "c b")
		c.expect(removalDelay-2*time.Second, "c b")
		c.expect(2*time.Second, "c")

		c.set(named()) // the CRD is being deleted, and is gone a moment later
		time.Sleep(half)
		c.crd(errNoCRD)
		c.expect(time.Hour, "c")
		c.crd(nil)
		c.expect(removalDelay-half, "c") // it is there again, and the policies follow a little later
		c.set(named("c", "d"))
		c.expect(time.Hour, "c d")
	})
}

// TestCRDThatReturnsWithinTheDelay deletes the CRD, and applies it again before the delay ends.
func TestCRDThatReturnsWithinTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.set(named("hide"))
		c.expect(0, "hide")
		c.set(named())
		time.Sleep(6*time.Second + half)
		c.crd(errNoCRD)
		time.Sleep(6 * time.Second)
		c.crd(nil)
		c.expect(removalDelay-half, "hide") // before the policies are applied again
		c.expect(retryEvery+time.Second, "")
	})
}

// TestPolicyThatReturnsHasANewDelay deletes a policy twice.
func TestPolicyThatReturnsHasANewDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.set(named("a"))
		c.expect(0, "a")
		c.set(named())
		time.Sleep(5*time.Second + half)
		c.set(named("a"))
		time.Sleep(9 * time.Second)
		c.set(named())
		c.expect(removalDelay-half, "a")
		c.expect(time.Second+half, "")
	})
}

// TestNothingIsKnownWithoutTheCRD starts a pod while the CRD is being deleted, so that its list of policies may be short.
func TestNothingIsKnownWithoutTheCRD(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.crd(errNoCRD)
		c.set(named())
		c.expect(time.Hour, "unknown")
		c.set(named("hide"))
		c.expect(time.Hour, "unknown")
		c.crd(nil)
		c.expect(retryEvery, "hide")
	})
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.crd(fmt.Errorf("looking: %w", apierrors.NewForbidden(schema.GroupResource{}, "", nil))) // a cluster may forbid to look
		c.set(named("hide"))
		c.expect(0, "hide")
		c.set(named())
		c.expect(time.Hour, "hide")
	})
}

// TestExistsReadsTheStateOfTheCRD asks API servers as they answer before, during and after the deletion of the CRD.
func TestExistsReadsTheStateOfTheCRD(t *testing.T) {
	const all = `"delete","deletecollection","get","list","patch","create","update","watch"`
	for resources, want := range map[string]string{
		`{"name":"archivepolicies","verbs":[` + all + `]},{"name":"archivepolicies/status","verbs":["get","patch","update"]}`: "",
		`{"name":"archivepolicies","verbs":["delete","deletecollection","get","list","watch"]}`:                               "is being deleted",
		`{"name":"archivegroups","verbs":[` + all + `]}`:                                                                      "is missing",
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/apis/varve.dev/v1alpha1" {
				t.Errorf("the request is %s", r.URL)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"varve.dev/v1alpha1","resources":[%s]}`, resources)
		}))
		c, err := mirror.NewClient(&rest.Config{Host: srv.URL})
		if err != nil {
			t.Fatal(err)
		}
		if err := exists(t.Context(), c); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with %s: %v; want %q", resources, err, want)
		}
		srv.Close()
		if err := exists(t.Context(), c); err == nil {
			t.Error("no error without an API server")
		}
	}
}
