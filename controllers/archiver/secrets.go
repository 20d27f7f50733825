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
	"varve.dev/varve/controllers/status"
)

// cassandraSecrets creates Secrets with passwords, once. The operator has no right to
// read them.
type cassandraSecrets struct {
	mu      sync.Mutex
	created map[types.NamespacedName]time.Time
	// noted has the last status.cassandra.roleSecret by Secret, because the cache may still have an older one.
	noted map[types.NamespacedName]string
}

// recreateAfter is how long the operator assumes that a Secret exists after its creation.
// After that, ensure creates the Secret again, because somebody may have deleted it.
const recreateAfter = time.Minute

// ensure creates missing Secrets: one for the superuser, unless the user names one, and one
// for the engines' role, whose new password the schema Job sets. The Secrets outlive the
// Archiver if its data does, because the data cannot be read without them.
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
		if secret == render.RoleSecret(a.Name) {
			if err := s.noteLocked(ctx, to, a, o); err != nil {
				return fmt.Errorf("creating Secret %s: %w", secret, err)
			}
		}
		if err := to.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating Secret %s: %w", secret, err)
		}
		if s.created == nil {
			s.created = map[types.NamespacedName]time.Time{}
		}
		s.created[name] = time.Now()
	}
	if id := s.noted[types.NamespacedName{Namespace: a.Namespace, Name: render.RoleSecret(a.Name)}]; id != "" {
		setRoleSecret(a, id)
	}
	return nil
}

// forget drops an Archiver that no longer exists.
func (s *cassandraSecrets) forget(archiver types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.noted, types.NamespacedName{Namespace: archiver.Namespace, Name: render.RoleSecret(archiver.Name)})
}

// noteLocked changes status.cassandra.roleSecret if the Secret of the engines' user does not exist. It
// does so before the Secret is created, so that the schema Job sets the new password even if the operator
// ends in between.
func (s *cassandraSecrets) noteLocked(ctx context.Context, to client.Client, a *v1alpha1.Archiver, secret *corev1.Secret) error {
	err := to.Create(ctx, secret.DeepCopy(), client.DryRunAll)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return err
	}
	id := rand.Text()[:16]
	old := a.DeepCopy()
	setRoleSecret(a, id)
	if _, err := status.Patch(ctx, to, old, a); err != nil {
		return err
	}
	if s.noted == nil {
		s.noted = map[types.NamespacedName]string{}
	}
	s.noted[client.ObjectKeyFromObject(secret)] = id
	return nil
}

func setRoleSecret(a *v1alpha1.Archiver, id string) {
	if a.Status == nil {
		a.Status = &v1alpha1.ArchiverStatus{}
	}
	if a.Status.Cassandra == nil {
		a.Status.Cassandra = &v1alpha1.CassandraStatus{}
	}
	a.Status.Cassandra.RoleSecret = id
}
