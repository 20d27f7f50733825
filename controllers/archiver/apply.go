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

// children remembers which objects are as they should be, so that an Archiver of
// which nothing changed costs no requests.
type children struct {
	mu   sync.Mutex
	good map[types.NamespacedName]map[childKey]digest
}

// digest stands for an object as it is, together with what is wanted of it.
type digest [sha256.Size]byte

// apply makes objects what is wanted. What the API server refuses for good is
// returned as a message, and the others are applied all the same.
func (c *children) apply(
	ctx context.Context, to client.Client, a *v1alpha1.Archiver, wanted []render.Object, live map[childKey]client.Object,
) (refused string, err error) {
	good := c.of(client.ObjectKeyFromObject(a))
	var messages []string
	for _, o := range wanted {
		key := keyOf(o)
		want, err := json.Marshal(o)
		if err != nil {
			return "", fmt.Errorf("encoding %s: %w", key, err)
		}
		is := live[key]
		now, err := digestOf(want, is)
		if err != nil {
			return "", fmt.Errorf("encoding %s: %w", key, err)
		}
		if good[key] == now {
			continue
		}
		version, err := applyOver(ctx, to, want, is)
		switch {
		case isRefusal(err):
			messages = append(messages, fmt.Sprintf("%s: %v", key, err))
		case err != nil:
			return "", fmt.Errorf("applying %s: %w", key, err)
		case is != nil && version == is.GetResourceVersion():
			good[key] = now // applying it changed nothing
		default:
			ctrl.LoggerFrom(ctx).Info("applied", "object", key.String())
		}
	}
	return strings.Join(messages, "; "), nil
}

// of returns what is remembered of an Archiver. One worker at a time has an
// Archiver, and so its map.
func (c *children) of(archiver types.NamespacedName) map[childKey]digest {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.good == nil {
		c.good = map[types.NamespacedName]map[childKey]digest{}
	}
	if c.good[archiver] == nil {
		c.good[archiver] = map[childKey]digest{}
	}
	return c.good[archiver]
}

func (c *children) forget(archiver types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.good, archiver)
}

// digestOf sums up what is wanted and what is there, but for what changes by
// itself.
func digestOf(want []byte, is client.Object) (digest, error) {
	h := sha256.New()
	h.Write(want)
	if is != nil {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(is.DeepCopyObject()) // of some kinds it is the object itself
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

// isRefusal tells errors that only people can mend from those that time does.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err)
}

// applyOver applies an object over what is there, and returns its resource
// version. What others added stays, unless the two do not go together: a port of
// a Service that was changed by hand is another port, with the same name.
func applyOver(ctx context.Context, to client.Client, want []byte, is client.Object) (version string, err error) {
	version, err = applyOne(ctx, to, want)
	if !apierrors.IsInvalid(err) || is == nil {
		return version, err
	}
	taken, takeErr := takeOver(ctx, to, is)
	if takeErr != nil || !taken {
		return "", err
	}
	return applyOne(ctx, to, want)
}

func applyOne(ctx context.Context, to client.Client, want []byte) (version string, err error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(want); err != nil {
		return "", err
	}
	err = to.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(v1alpha1.FieldManager), client.ForceOwnership)
	return u.GetResourceVersion(), err
}

// takeOver makes the operator the owner of all fields that others updated, so that
// those that it does not apply go.
func takeOver(ctx context.Context, to client.Client, is client.Object) (taken bool, err error) {
	others := sets.New[string]()
	for _, f := range is.GetManagedFields() {
		if f.Operation == metav1.ManagedFieldsOperationUpdate && f.Subresource == "" {
			others.Insert(f.Manager)
		}
	}
	if len(others) == 0 {
		return false, nil
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(is, others, v1alpha1.FieldManager)
	if err != nil || patch == nil {
		return false, err
	}
	if err := to.Patch(ctx, is, client.RawPatch(types.JSONPatchType, patch)); err != nil {
		return false, fmt.Errorf("taking over fields: %w", err)
	}
	return true, nil
}
