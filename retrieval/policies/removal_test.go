package policies

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

func named(names ...string) (list []v1alpha1.ArchivePolicy) {
	for _, name := range names {
		list = append(list, v1alpha1.ArchivePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return list
}

// TestPoliciesThatDisappearWithTheirCRDStillApply deletes policies, with and without their CRD.
func TestPoliciesThatDisappearWithTheirCRDStillApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var applied string
		var missing error
		r := newRemoval(func(list []v1alpha1.ArchivePolicy) {
			var names []string
			for i := range list {
				names = append(names, list[i].Name)
			}
			mu.Lock()
			applied = strings.Join(names, " ")
			mu.Unlock()
		}, func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			return missing
		}, slog.New(slog.DiscardHandler))
		crd := func(err error) {
			mu.Lock()
			missing = err
			mu.Unlock()
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go r.run(ctx)
		expect := func(after time.Duration, want string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if applied != want {
				t.Errorf("the policies are %q, want %q", applied, want)
			}
		}
		r.set(named("a", "b"))
		expect(0, "a b")
		r.set(named("a", "b", "c")) // a new one applies at once
		expect(0, "a b c")
		r.set(named("b", "c")) // somebody deletes one
		expect(removalDelay-time.Second, "b c a")
		r.set(named("c")) // and another one later, which has its own delay
		expect(2*time.Second, "c b")
		expect(removalDelay, "c")

		r.set(named()) // the CRD is being deleted, and is gone a second later
		time.Sleep(time.Second)
		crd(errors.New("the server could not find the requested resource"))
		expect(time.Hour, "c")
		crd(nil)
		expect(removalDelay+time.Second, "c") // it is there again, and the policies follow a little later
		r.set(named("c", "d"))
		expect(time.Hour, "c d")
	})
}
