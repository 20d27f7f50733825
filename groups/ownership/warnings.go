package ownership

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/compile"
)

// Facts are what the warnings about a policy depend on.
type Facts struct {
	// Archiver is the Archiver of the policy.
	Archiver *v1alpha1.Archiver
	// All are the policies of the namespace.
	All []v1alpha1.ArchivePolicy
	// Groups are the names of the Archiver's ArchiveGroups, without the namespace.
	Groups []string
	// Outcome is what the policy decides about, or nil if nothing.
	Outcome *compile.PolicyOutcome
}

// Warnings says in which respects a policy may not do what its author wants.
func Warnings(p *v1alpha1.ArchivePolicy, f *Facts) (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	decides := convert(p)
	if !readable(p, f.Archiver) {
		add("nobody can read these PVs: spec.retrieval.access of the Archiver gives no reader a user or a group that the policy names")
	}
	if !slices.ContainsFunc(f.Groups, decides.Owns) {
		add("no ArchiveGroup of the Archiver is in owners.archiveGroups, so nobody archives these PVs")
	}
	for _, prefix := range p.Spec.Prefixes {
		for i := range f.All {
			other := &f.All[i]
			if other.Name != p.Name && other.Spec.ArchiverRef == p.Spec.ArchiverRef && slices.Contains(other.Spec.Prefixes, prefix) {
				add("ArchivePolicy %s has the prefix %s, too: readers and ArchiveGroups need both", other.Name, prefix)
			}
		}
	}
	if f.Outcome != nil && len(f.Outcome.Refused) > 0 {
		add("%s", refusals(p, f.Outcome.Refused))
	}
	return all
}

// mostGroups is the number of groups in a warning.
const mostGroups = 5

func refusals(p *v1alpha1.ArchivePolicy, refused map[string]int) string {
	verb := "it refuses"
	if p.Spec.Enforcement == v1alpha1.WarnOfPolicy {
		verb = "it would refuse"
	}
	names := slices.Sorted(maps.Keys(refused))
	var parts []string
	for _, name := range names[:min(len(names), mostGroups)] {
		parts = append(parts, fmt.Sprintf("%s (%d channels)", name, refused[name]))
	}
	text := verb + " channels of the ArchiveGroups " + strings.Join(parts, ", ")
	if more := len(names) - mostGroups; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// readable reports whether somebody may read the PVs of a policy. It reports true if the authenticators of the
// Archiver can give any user and group.
func readable(p *v1alpha1.ArchivePolicy, a *v1alpha1.Archiver) bool {
	decides := convert(p)
	access := a.Spec.Retrieval.Access
	if access == nil {
		return decides.Reads("anonymous", nil)
	}
	return slices.ContainsFunc(access.Authenticators, func(by v1alpha1.Authenticator) bool {
		switch {
		case by.Anonymous != nil:
			return decides.Reads("anonymous", texts(by.Anonymous.Groups))
		case by.Networks != nil:
			return slices.ContainsFunc(by.Networks, func(n v1alpha1.NetworkAccess) bool {
				return decides.Reads(string(n.CIDR), texts(n.Groups))
			})
		}
		return true
	})
}
