package controllers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
)

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
