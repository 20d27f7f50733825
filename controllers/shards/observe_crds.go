package shards

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
)

// Names of the CRDs that the operator needs to know which PVs to capture.
const (
	groupCRD  = "archivegroups.varve.dev"
	policyCRD = "archivepolicies.varve.dev"
)

// listPatience is how long the first list of ArchivePolicies may take. Without a limit, the reconciler would wait forever,
// and log nothing, if it has no right to list them.
const listPatience = 20 * time.Second

// observePolicies gathers the policies of an Archiver.
func (r *Reconciler) observePolicies(ctx context.Context, in *observed) error {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	var policies v1alpha1.ArchivePolicyList
	err := r.Client.List(ctx, &policies, client.InNamespace(in.archiver.Namespace), client.UnsafeDisableDeepCopy)
	if meta.IsNoMatchError(err) {
		in.policiesUnknown = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing ArchivePolicies, for which the operator needs the rights list and watch: %w", err)
	}
	in.policies = slices.DeleteFunc(policies.Items, func(p v1alpha1.ArchivePolicy) bool { return p.Spec.ArchiverRef.Name != in.archiver.Name })
	slices.SortFunc(in.policies, func(a, b v1alpha1.ArchivePolicy) int { return cmp.Compare(a.Name, b.Name) }) // for the fingerprint
	return nil
}

// missingCRD returns the name of a CRD that is gone or is being deleted, or "" if there is none. Without their CRD, groups or
// policies are missing although no user has deleted them. So engines continue to capture the same PVs, and no data is
// deleted. missingCRD looks for a CRD before the first compilation, and when an object of the last compilation has
// disappeared.
func (r *Reconciler) missingCRD(ctx context.Context, in *observed, known *memory) (string, error) {
	if in.policiesUnknown {
		return policyCRD, nil
	}
	var groups, policies []string
	for i := range in.groups {
		groups = append(groups, groupName(&in.groups[i]))
	}
	for i := range in.policies {
		policies = append(policies, in.policies[i].Name)
	}
	for _, c := range []struct {
		crd            string
		before, exists []string
	}{
		{groupCRD, known.compiled.groupNames(), groups},
		{policyCRD, known.compiled.policyNames(), policies},
	} {
		if known.compiled != nil && containsAll(c.exists, c.before) {
			continue
		}
		if gone, err := r.crdDeleted(ctx, c.crd); gone || err != nil {
			return c.crd, err
		}
	}
	return "", nil
}

// containsAll reports whether names contains all the names of some.
func containsAll(names, some []string) bool {
	return !slices.ContainsFunc(some, func(name string) bool { return !slices.Contains(names, name) })
}

// crdDeleted reports whether a CRD is gone or is being deleted.
func (r *Reconciler) crdDeleted(ctx context.Context, name string) (bool, error) {
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(customResourceDefinition)
	err := r.API.Get(ctx, client.ObjectKey{Name: name}, crd)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsForbidden(err): // an operator of a few namespaces has no right to read CRDs
		return false, nil
	case err != nil:
		return false, fmt.Errorf("getting the CRD %s: %w", name, err)
	}
	return crd.DeletionTimestamp != nil, nil
}

// logCRD logs that a CRD has disappeared, or is there again.
func (m *memory) logCRD(ctx context.Context, missing string) {
	if missing == m.missingCRD {
		return
	}
	log := ctrl.LoggerFrom(ctx)
	if missing != "" {
		log.Error(nil, "a CRD is missing: engines continue to capture the same PVs, no data is deleted, and changes of ArchiveGroups wait; "+
			"apply the CRDs of this version of the operator", "crd", missing, "files", "charts/varve-operator/files/crds")
	} else {
		log.Info("the CRD exists again, and changes of ArchiveGroups are applied", "crd", m.missingCRD)
	}
	m.missingCRD = missing
}
