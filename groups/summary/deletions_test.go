package summary

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// TestAGroupShowsItsDeletions checks what people see of the deletions of samples of a group in a cluster.
func TestAGroupShowsItsDeletions(t *testing.T) {
	since := metav1.NewTime(time.Date(2027, 3, 2, 8, 0, 0, 0, time.UTC))
	st := func(index int32, state v1alpha1.DeletionState, message string) v1alpha1.SampleDeletionStatus {
		return v1alpha1.SampleDeletionStatus{Index: &index, State: state, Since: &since, Message: message}
	}
	g := &v1alpha1.ArchiveGroup{Status: &v1alpha1.ArchiveGroupStatus{Deletions: []v1alpha1.SampleDeletionStatus{
		st(0, v1alpha1.DeletionWaiting, "nothing is deleted before noon"), st(1, v1alpha1.DeletionHidden, "removed for 0 of 2 PVs"), st(2, v1alpha1.DeletionDone, ""), {},
	}}}
	var got []string
	for _, p := range Of(g, "", nil).Problems {
		got = append(got, fmt.Sprintf("%s: %s. %s", p.Severity, p.Text, p.Advice))
	}
	const wait = ". Leave the entry in the group until the deletion is done."
	if want := []string{
		"info: deletions[0]: waiting since 2027-03-02T08:00:00Z: nothing is deleted before noon" + wait,
		"info: deletions[1]: hidden since 2027-03-02T08:00:00Z: removed for 0 of 2 PVs" + wait,
		"info: deletions[2]: done since 2027-03-02T08:00:00Z. Remove the entry from the group. The samples stay deleted.",
	}; !slices.Equal(got, want) {
		t.Errorf("problems %q, want %q", got, want)
	}
}
