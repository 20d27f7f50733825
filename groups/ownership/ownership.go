// Package ownership turns ArchivePolicies into the decisions of package engine/policy. It is pure:
//
//	ArchivePolicies of an Archiver ──┬─▶ Enforced ──▶ groups/compile, retrieval pods
//	                                 └─▶ Planned ───▶ status of the ArchivePolicies
//
// The operator and the retrieval pods use the same function, so they cannot decide differently.
package ownership

import (
	"cmp"
	"slices"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/policy"
)

// Enforced returns the policies of an Archiver that have an effect.
func Enforced(list []v1alpha1.ArchivePolicy, archiver string) *policy.Set {
	return of(list, archiver, func(p *v1alpha1.ArchivePolicy) bool { return p.Spec.Enforcement != v1alpha1.WarnOfPolicy })
}

// Planned returns all policies of an Archiver, as if all of them had an effect.
func Planned(list []v1alpha1.ArchivePolicy, archiver string) *policy.Set {
	return of(list, archiver, func(*v1alpha1.ArchivePolicy) bool { return true })
}

// Alone returns the policies of a standalone archive that have an effect, and all of them. It is the Archiver of all policies.
func Alone(list []v1alpha1.ArchivePolicy) (enforced, planned *policy.Set) {
	list = slices.Clone(list) // the caller keeps the original
	for i := range list {
		list[i].Spec.ArchiverRef.Name = ""
	}
	return Enforced(list, ""), Planned(list, "")
}

func of(list []v1alpha1.ArchivePolicy, archiver string, counts func(*v1alpha1.ArchivePolicy) bool) *policy.Set {
	var out []policy.Policy
	for i := range list {
		if p := &list[i]; p.Spec.ArchiverRef.Name == archiver && counts(p) {
			out = append(out, convert(p))
		}
	}
	slices.SortFunc(out, func(a, b policy.Policy) int { return cmp.Compare(a.Name, b.Name) })
	return policy.New(out)
}

func convert(p *v1alpha1.ArchivePolicy) policy.Policy {
	spec := &p.Spec
	out := policy.Policy{
		Name: p.Name,
		Owners: policy.Owners{
			ArchiveGroups: spec.Owners.ArchiveGroups, Users: texts(spec.Owners.Users), Groups: texts(spec.Owners.Groups),
		},
	}
	for _, prefix := range spec.Prefixes {
		out.Prefixes = append(out.Prefixes, string(prefix))
	}
	if r := spec.Readers; r != nil {
		out.Readers = policy.Audience{Everybody: r.Everybody, Users: texts(r.Users), Groups: texts(r.Groups)}
	}
	return out
}

func texts(names []v1alpha1.AccessName) (out []string) {
	for _, name := range names {
		out = append(out, string(name))
	}
	return out
}
