package archiver

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// children remembers which objects are up to date, so that an unchanged Archiver causes no
// requests.
type children struct {
	mu sync.Mutex
	// current has the digest of each object that is up to date.
	current map[types.NamespacedName]map[childKey]digest
}

// digest is a hash of the wanted and the actual state of an object.
type digest [sha256.Size]byte

// apply applies the wanted objects, and puts what it changed into live. If the API server rejects some of
// them permanently, or a webhook for them does not answer, apply returns messages and still applies the others.
func (c *children) apply(
	ctx context.Context, to client.Client, a *v1alpha1.Archiver, wanted []render.Object, live map[childKey]client.Object,
) (refused string, err error) {
	current := c.of(client.ObjectKeyFromObject(a))
	var messages []string
	for _, o := range wanted {
		key := keyOf(o)
		want, err := json.Marshal(o)
		if err != nil {
			return "", fmt.Errorf("encoding %s: %w", key, err)
		}
		have := live[key]
		now, err := digestOf(want, have)
		if err != nil {
			return "", fmt.Errorf("encoding %s: %w", key, err)
		}
		if current[key] == now {
			continue
		}
		applied, err := applyOver(ctx, to, want, have)
		switch {
		case isRefusal(err):
			messages = append(messages, fmt.Sprintf("%s: %v", key, err))
		case silentWebhook(err) != "":
			messages = append(messages, fmt.Sprintf("%s: the webhook %s does not answer: start the operator that serves it", key, silentWebhook(err)))
		case err != nil:
			return "", fmt.Errorf("applying %s: %w", key, err)
		case have != nil && applied.GetResourceVersion() == have.GetResourceVersion():
			current[key] = now // applying it changed nothing
		default:
			ctrl.LoggerFrom(ctx).Info("applied object", "object", key.String())
			if live[key], err = typed(to.Scheme(), applied); err != nil {
				return "", fmt.Errorf("decoding %s: %w", key, err)
			}
		}
	}
	return strings.Join(messages, "; "), nil
}

// of returns the digests of an Archiver's objects. Only one worker at a time reconciles an
// Archiver, so its map needs no lock.
func (c *children) of(archiver types.NamespacedName) map[childKey]digest {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		c.current = map[types.NamespacedName]map[childKey]digest{}
	}
	if c.current[archiver] == nil {
		c.current[archiver] = map[childKey]digest{}
	}
	return c.current[archiver]
}

// forget drops an Archiver that no longer exists.
func (c *children) forget(archiver types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.current, archiver)
}

// digestOf hashes the wanted and the actual state of an object. It ignores fields that change
// without an edit, such as the status.
func digestOf(want []byte, have client.Object) (digest, error) {
	h := sha256.New()
	h.Write(want)
	if have != nil {
		// The converter returns an unstructured object itself, hence the copy.
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(have.DeepCopyObject())
		if err != nil {
			return digest{}, err
		}
		delete(fields, "status")
		for _, f := range []string{"managedFields", "resourceVersion", "generation"} {
			unstructured.RemoveNestedField(fields, "metadata", f)
		}
		text, err := json.Marshal(fields)
		if err != nil {
			return digest{}, err
		}
		h.Write(text)
	}
	return digest(h.Sum(nil)), nil
}

// isRefusal reports whether an error persists until somebody edits an object. Other errors are
// retried.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err)
}

// silentWebhook returns the name of the webhook that the API server could not call, or "". Other operators
// have webhooks for their kinds. While such an operator is away, engines must still follow the spec.
func silentWebhook(err error) string {
	if !apierrors.IsInternalError(err) {
		return ""
	}
	_, after, _ := strings.Cut(err.Error(), `failed calling webhook "`)
	name, _, _ := strings.Cut(after, `"`)
	return name
}

// typed returns an object as its Go type. An object of a kind that the scheme does not know stays as it is.
func typed(scheme *runtime.Scheme, u *unstructured.Unstructured) (client.Object, error) {
	o, err := scheme.New(u.GroupVersionKind())
	if runtime.IsNotRegisteredError(err) {
		return u, nil
	}
	if err != nil {
		return nil, err
	}
	return o.(client.Object), runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o)
}

// applyOver applies an object over the existing one and returns the result.
// Fields that others added stay, unless the result would be invalid: a Service port that
// was changed by hand would become a second port with the same name.
func applyOver(ctx context.Context, to client.Client, want []byte, have client.Object) (*unstructured.Unstructured, error) {
	applied, err := applyOne(ctx, to, want)
	if !apierrors.IsInvalid(err) || have == nil {
		return applied, err
	}
	taken, takeErr := takeOver(ctx, to, have)
	if takeErr != nil || !taken {
		return nil, err
	}
	return applyOne(ctx, to, want)
}

// applyOne applies an object and returns the result.
func applyOne(ctx context.Context, to client.Client, want []byte) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(want); err != nil {
		return nil, err
	}
	return u, to.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(v1alpha1.FieldManager), client.ForceOwnership)
}

// takeOver makes the operator the owner of all fields that others updated. The next apply then
// removes the fields that the operator does not set.
func takeOver(ctx context.Context, to client.Client, have client.Object) (taken bool, err error) {
	others := sets.New[string]()
	for _, f := range have.GetManagedFields() {
		if f.Operation == metav1.ManagedFieldsOperationUpdate && f.Subresource == "" {
			others.Insert(f.Manager)
		}
	}
	if len(others) == 0 {
		return false, nil
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(have, others, v1alpha1.FieldManager)
	if err != nil || patch == nil {
		return false, err
	}
	if err := to.Patch(ctx, have, client.RawPatch(types.JSONPatchType, patch)); err != nil {
		return false, fmt.Errorf("taking over fields: %w", err)
	}
	return true, nil
}
