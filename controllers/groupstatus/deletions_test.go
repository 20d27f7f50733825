package groupstatus

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/groups/compile"
)

// TestTheStatusFollowsADeletion checks what the status of a group says about a deletion, from its beginning to its end.
func TestTheStatusFollowsADeletion(t *testing.T) {
	to := metav1.NewTime(now.Add(-time.Hour))
	in := good(func(in *Input) {
		in.Group.Spec.Deletions = []v1alpha1.SampleDeletion{{PVs: []string{"A"}, To: &to, Reason: "bad calibration"}}
		in.Compiled.Deletions = []compile.Deletion{{PVs: 1, Hash: 7}}
	})
	minutes := 0
	reported := func(state v1alpha1.DeletionState, message string) func() {
		return func() { in.Deletions = []outcome.Deletion{{State: state, Message: message}} }
	}
	compiled := func(d compile.Deletion) func() {
		return func() { in.Compiled.Deletions, in.Deletions = []compile.Deletion{d}, nil }
	}
	known := compile.Deletion{PVs: 1, Hash: 7}
	for _, step := range []struct {
		name    string
		change  func()
		want    string // state, since when in minutes, message
		written bool   // at once
	}{
		{"nothing is known", func() {}, "Waiting 0: ", true},
		{"names are missing", compiled(compile.Deletion{Waiting: "the PVs of all groups are not known"}), "Waiting 0: the PVs of all groups are not known", true},
		{"ordered", func() { compiled(known)(); reported("", "no shard has begun")() }, "Waiting 0: no shard has begun", true},
		{"an engine fails", func() {
			in.Deletions = []outcome.Deletion{{State: v1alpha1.DeletionWaiting, Message: "the archive has format level 5", Failed: true}}
		}, "Waiting 0: the archive has format level 5", true},
		{"hidden", reported(v1alpha1.DeletionHidden, "0 of 1 PVs"), "Hidden 4: 0 of 1 PVs", true},
		{"hidden, with progress", reported(v1alpha1.DeletionHidden, "1 of 1 PVs"), "Hidden 4: 1 of 1 PVs", false},
		{"its PV moves", reported("", "its PV moves"), "Hidden 4: its PV moves", false},
		{"done", reported(v1alpha1.DeletionDone, ""), "Done 7: ", true},
		{"the sealer has changed", reported("", "no shard has begun"), "Done 7: ", false},
		{"names are missing again", compiled(compile.Deletion{Waiting: "the PVs of all groups are not known"}), "Done 7: ", false},
		{"the group expires", func() { in.Compiled = &compile.Group{Expired: true} }, "Done 7: ", true},
		{"the group is back", func() { in.Compiled = good().Compiled; compiled(known)() }, "Done 7: ", true},
		{"an engine finds samples again", reported(v1alpha1.DeletionWaiting, "X is unknown"), "Waiting 12: X is unknown", true},
		{"done again", reported(v1alpha1.DeletionDone, ""), "Done 13: ", true},
		{"another PV matches", func() { compiled(compile.Deletion{PVs: 1, Hash: 8})(); reported("", "no shard has begun")() }, "Waiting 14: no shard has begun", true},
	} {
		in.Now = now.Add(time.Duration(minutes) * time.Minute)
		step.change()
		next := Compute(in)
		d := next.Deletions[0]
		if got := fmt.Sprintf("%s %.0f: %s", d.State, d.Since.Sub(now).Minutes(), d.Message); got != step.want {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
		if step.name == "an engine fails" != strings.Contains(texts(next)["Degraded"], "deletions[0]: the archive has format level 5") {
			t.Errorf("%s: Degraded is %s", step.name, texts(next)["Degraded"])
		}
		if got := Changed(in.Group.Status, next, 0); got != step.written {
			t.Errorf("%s: the status is written at once: %v", step.name, got)
		}
		in.Group.Status = &next
		minutes++
	}
	in.Group.Generation++
	in.Group.Spec.Deletions[0].Reason = "another"
	if next := Compute(in); next.Deletions[0].Hash != in.Group.Status.Deletions[0].Hash {
		t.Error("the status changes before the group is compiled")
	}
	in.CompiledGeneration++
	if d := Compute(in).Deletions[0]; d.Hash == in.Group.Status.Deletions[0].Hash || d.State != v1alpha1.DeletionWaiting {
		t.Errorf("an edited deletion is %+v", d)
	}
	in.Group.Spec.Deletions = nil
	if next := Compute(in); next.Deletions != nil {
		t.Errorf("without deletions the status has %+v", next.Deletions)
	}
}
