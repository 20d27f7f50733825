package groupstatus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/groups/compile"
)

// longestMessage is the maximum length of the message of a deletion, in bytes.
const longestMessage = 1000

// deletions returns how far the deletions of samples of the group are. What is known of an earlier version of the group
// stays until the group is compiled.
func deletions(in Input) []v1alpha1.SampleDeletionStatus {
	spec := in.Group.Spec.Deletions
	var was []v1alpha1.SampleDeletionStatus
	if in.Group.Status != nil {
		was = in.Group.Status.Deletions
	}
	switch {
	case len(spec) == 0:
		return nil
	case in.Compiled == nil || in.CompiledGeneration != in.Group.Generation || !in.Group.DeletionTimestamp.IsZero():
		return was
	}
	out := make([]v1alpha1.SampleDeletionStatus, len(spec))
	for i := range spec {
		out[i] = in.deletion(i, was)
	}
	return out
}

// deletion returns how far one deletion is. was are the states in the last status.
func (in Input) deletion(index int, was []v1alpha1.SampleDeletionStatus) v1alpha1.SampleDeletionStatus {
	entry := hashOf(&in.Group.Spec.Deletions[index])
	compiled := compile.Deletion{Waiting: "the group has expired: nothing is deleted"}
	if !in.Compiled.Expired && index < len(in.Compiled.Deletions) {
		compiled = in.Compiled.Deletions[index]
	}
	next := v1alpha1.SampleDeletionStatus{
		Index: new(int32(index)), Hash: fmt.Sprintf("%s-%016x", entry, compiled.Hash), State: v1alpha1.DeletionWaiting,
		Since: new(metav1.NewTime(in.Now.Truncate(time.Second))), Message: compiled.Waiting,
	}
	reported := false
	if at := slices.IndexFunc(in.Deletions, func(d outcome.Deletion) bool { return d.Index == index }); at >= 0 && compiled.Waiting == "" {
		d := &in.Deletions[at]
		next.State, next.Message, reported = cmp.Or(d.State, v1alpha1.DeletionWaiting), d.Message, d.State != ""
	}
	next.Message = cut(next.Message, longestMessage)
	at := slices.IndexFunc(was, func(s v1alpha1.SampleDeletionStatus) bool {
		// While nothing is deleted, it is not known which PVs the entry names.
		unknown := compiled.Waiting != "" || s.State == v1alpha1.DeletionWaiting
		return s.Hash == next.Hash || unknown && strings.HasPrefix(s.Hash, entry+"-")
	})
	if at < 0 {
		return next
	}
	old := &was[at]
	switch {
	case !reported && old.State != v1alpha1.DeletionWaiting: // the samples stay deleted
		next.State, next.Hash, next.Since = old.State, old.Hash, old.Since
		if old.State == v1alpha1.DeletionDone {
			next.Message = ""
		}
	case old.State == next.State:
		next.Since = old.Since
	}
	return next
}

// hashOf returns a hash of an entry in spec.deletions.
func hashOf(d *v1alpha1.SampleDeletion) string {
	of := func(t *metav1.Time) int64 {
		if t == nil {
			return 0
		}
		return t.UnixNano()
	}
	count := int32(0)
	if d.Count != nil {
		count = *d.Count
	}
	return fmt.Sprintf("%016x", xxhash.Sum64String(fmt.Sprintf("%q %q %d %t %d %d %q", d.PVs, d.Match, count, d.From != nil, of(d.From), of(d.To), d.Reason)))
}

// deletionProblems returns the deletions that cannot go on.
func (in Input) deletionProblems() (texts []string) {
	for _, d := range in.Deletions {
		if d.Failed {
			texts = append(texts, fmt.Sprintf("deletions[%d]: %s", d.Index, d.Message))
		}
	}
	return texts
}

// sameDeletions reports whether deletions are as far in two statuses.
func sameDeletions(a, b []v1alpha1.SampleDeletionStatus) bool {
	return slices.EqualFunc(a, b, func(a, b v1alpha1.SampleDeletionStatus) bool { return a.Hash == b.Hash && a.State == b.State })
}
