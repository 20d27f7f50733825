package summary

import (
	"fmt"
	"time"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/serve/overview"
)

// deletionProblems returns how far the deletions of samples of a group in a cluster are.
func deletionProblems(s *v1alpha1.ArchiveGroupStatus) (out []overview.Problem) {
	if s == nil {
		return nil
	}
	for i := range s.Deletions {
		d := &s.Deletions[i]
		if d.Index == nil || d.Since == nil {
			continue
		}
		p := overview.Problem{Severity: overview.SeverityInfo, Advice: "Leave the entry in the group until the deletion is done."}
		what := fmt.Sprintf("deletions[%d]: ", *d.Index)
		since := " since " + d.Since.UTC().Format(time.RFC3339)
		switch d.State {
		case v1alpha1.DeletionDone:
			p.Text, p.Advice = what+"done"+since, "Remove the entry from the group. The samples stay deleted."
		case v1alpha1.DeletionHidden:
			p.Text = what + "hidden" + since + ": " + d.Message
		default:
			p.Text = what + "waiting" + since + ": " + d.Message
		}
		out = append(out, p)
	}
	return out
}
