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

// cassandraSecrets makes Secrets with passwords, once. It has no right to read them.
type cassandraSecrets struct {
	mu   sync.Mutex
	made map[types.NamespacedName]time.Time
}

// remakeAfter is how long a Secret counts as made: it may have been deleted.
const remakeAfter = time.Minute

// ensure makes what is missing: the superuser's Secret, unless the user has one, and that
// of the role that engines have. They outlive the Archiver as the data does, which can
// not be read without.
func (s *cassandraSecrets) ensure(ctx context.Context, to client.Client, a *v1alpha1.Archiver) error {
	users := map[string]string{render.RoleSecret(a.Name): "varve_engine"}
	if name, ours := render.SuperuserSecret(a); ours {
		users[name] = "varve_admin"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for secret, user := range users {
		name := types.NamespacedName{Namespace: a.Namespace, Name: secret}
		if time.Since(s.made[name]) < remakeAfter {
			continue
		}
		o := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: secret, Labels: render.Labels(a.Name, "")},
			StringData: map[string]string{"username": user, "password": rand.Text()},
		}
		if render.Managed(a).DeletionPolicy == v1alpha1.DeleteData {
			o.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(a, v1alpha1.GroupVersion.WithKind(v1alpha1.KindArchiver))}
		}
		if err := to.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("making Secret %s: %w", secret, err)
		}
		if s.made == nil {
			s.made = map[types.NamespacedName]time.Time{}
		}
		s.made[name] = time.Now()
	}
	return nil
}
