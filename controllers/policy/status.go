package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/groups/compile"
	"varve.dev/varve/groups/ownership"
)

// input is what the status of a policy depends on.
type input struct {
	policy   *v1alpha1.ArchivePolicy
	all      []v1alpha1.ArchivePolicy // of the namespace
	archiver *v1alpha1.Archiver       // nil if there is none
	outcome  *outcome.Outcome         // nil before groups were compiled
	now      time.Time
}

// longest is the maximum length of a message in bytes.
const longest = 2000

// compute returns the status of a policy.
func compute(in *input) v1alpha1.ArchivePolicyStatus {
	p := in.policy
	next := v1alpha1.ArchivePolicyStatus{ObservedGeneration: p.Generation}
	if p.Status != nil {
		next.Conditions = slices.DeleteFunc(slices.Clone(p.Status.Conditions), func(c metav1.Condition) bool { return c.Reason == v1alpha1.ReasonPending })
	}
	set := func(kind string, is metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&next.Conditions, metav1.Condition{
			Type: kind, Status: is, Reason: reason, Message: message, ObservedGeneration: p.Generation, LastTransitionTime: metav1.NewTime(in.now),
		})
	}
	switch {
	case in.archiver == nil:
		text := fmt.Sprintf("there is no Archiver %q in this namespace", p.Spec.ArchiverRef.Name)
		set(v1alpha1.ConditionEffective, metav1.ConditionFalse, v1alpha1.ReasonArchiverNotFound, text)
		set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonArchiverNotFound, text)
		set(v1alpha1.ConditionWarning, metav1.ConditionUnknown, v1alpha1.ReasonArchiverNotFound, text)
		return next
	case p.Spec.Enforcement == v1alpha1.WarnOfPolicy:
		set(v1alpha1.ConditionEffective, metav1.ConditionFalse, v1alpha1.ReasonWarnOnly, "enforcement is Warn: the policy has no effect, and the condition Warning says what it would refuse")
	default:
		set(v1alpha1.ConditionEffective, metav1.ConditionTrue, v1alpha1.ReasonEnforced, "the policy decides who may archive and read these PVs")
	}
	if in.outcome == nil {
		set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonCompiling, "the operator has not processed the ArchiveGroups yet")
		set(v1alpha1.ConditionWarning, metav1.ConditionUnknown, v1alpha1.ReasonCompiling, "the operator has not processed the ArchiveGroups yet")
		return next
	}
	set(v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonUpToDate, "the status describes the latest policy and ArchiveGroups")
	facts := &ownership.Facts{Archiver: in.archiver, All: in.all, Outcome: in.outcome.Policies[p.Name], Groups: groupNames(in.outcome.Groups)}
	if facts.Outcome != nil {
		next.Channels = int32(facts.Outcome.Channels)
		for _, n := range facts.Outcome.Refused {
			next.Refused += int32(n)
		}
	}
	if warnings := ownership.Warnings(p, facts); len(warnings) > 0 {
		set(v1alpha1.ConditionWarning, metav1.ConditionTrue, v1alpha1.ReasonCheckPolicy, cut(strings.Join(warnings, "; ")))
	} else {
		set(v1alpha1.ConditionWarning, metav1.ConditionFalse, v1alpha1.ReasonNoProblems, "")
	}
	return next
}

// groupNames returns the names of groups without the namespace.
func groupNames(groups map[string]*compile.Group) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		_, name, _ = strings.Cut(name, "/")
		names = append(names, name)
	}
	return names
}

func cut(text string) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}
