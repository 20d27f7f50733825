package archiver

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// cassandraSecrets creates Secrets with passwords, once. The operator has no right to
// read them.
type cassandraSecrets struct {
	mu      sync.Mutex
	created map[types.NamespacedName]time.Time
}

// recreateAfter is how long the operator assumes that a Secret exists after its creation.
// After that, ensure creates the Secret again, because somebody may have deleted it.
const recreateAfter = time.Minute

// ensure creates missing Secrets: one for the superuser, unless the user names one, and one
// for the engines' role. The Secrets outlive the Archiver if its data does, because the data
// cannot be read without them.
func (s *cassandraSecrets) ensure(ctx context.Context, to client.Client, a *v1alpha1.Archiver) error {
	users := map[string]string{render.RoleSecret(a.Name): "varve_engine"}
	if name, ours := render.SuperuserSecret(a); ours {
		users[name] = "varve_admin"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for secret, user := range users {
		name := types.NamespacedName{Namespace: a.Namespace, Name: secret}
		if time.Since(s.created[name]) < recreateAfter {
			continue
		}
		o := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: secret, Labels: render.Labels(a.Name, "")},
			StringData: map[string]string{"username": user, "password": rand.Text()},
		}
		if render.Managed(a).DeletionPolicy != v1alpha1.DeleteData {
			o.Annotations = render.KeptByArgoCD
		} else {
			o.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(a, v1alpha1.GroupVersion.WithKind(v1alpha1.KindArchiver))}
		}
		if err := to.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating Secret %s: %w", secret, err)
		}
		if s.created == nil {
			s.created = map[types.NamespacedName]time.Time{}
		}
		s.created[name] = time.Now()
	}
	return nil
}
