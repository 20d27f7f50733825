package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/varve/groups/plan"
)

// writeGroup writes a manifest of a group with one PV for each name.
func writeGroup(t *testing.T, dir, name, spec string, pvs ...string) {
	t.Helper()
	text := "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {name: " + name + "}\nspec:\n  archiverRef: {name: main}\n" + spec + "  channels:\n"
	for _, pv := range pvs {
		text += "  - {name: \"" + pv + "\"}\n"
	}
	if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPlanOfFiles checks the output and the exit codes of varve plan for the files of varve standalone.
func TestPlanOfFiles(t *testing.T) {
	current, edited := t.TempDir(), t.TempDir()
	writeGroup(t, current, "vacuum", "", "SR:A", "SR:B")
	writeGroup(t, current, "rf", "", "SR:C")
	writeGroup(t, edited, "vacuum", "  retention: {raw: 1y}\n", "SR:B", "SR:D")

	if out, _, err := varve(t, "plan", "-f", current, "--current", current); err != nil || !strings.Contains(out, "3 PVs: 0 added, 0 removed, 0 changed, 0 moved, 3 unchanged") {
		t.Errorf("without a change: %v\n%s", err, out)
	}
	out, _, err := varve(t, "plan", "-f", edited, "--current", current)
	if err == nil || exitCode(err) != exitProblems || err.Error() != "3 PVs would change now, and 0 events later" {
		t.Errorf("a change gives %v", err)
	}
	for _, want := range []string{
		"4 PVs: 1 added, 1 removed, 1 changed, 0 moved, 1 unchanged\n",
		"added:\n  SR:D  default/vacuum\n", "removed:\n  SR:A  default/vacuum\n",
		"changed:\n  SR:B  default/vacuum; retention.raw: forever → 1y\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the plan lacks %q:\n%s", want, out)
		}
	}
	out, _, err = varve(t, "plan", "-f", edited, "--current", current, "--prune", "-o", "json")
	var got struct {
		PVs     []struct{ PV, Action string }
		Removed int
		Notes   []string
	}
	if exitCode(err) != exitProblems || json.Unmarshal([]byte(out), &got) != nil || got.Removed != 2 || len(got.PVs) != 4 || got.PVs[2].PV != "SR:C" || got.PVs[2].Action != "remove" {
		t.Errorf("with --prune: %v\n%s", err, out)
	}
	writeGroup(t, edited, "rf", "  expiresAt: 2127-01-01T00:00:00Z\n", "SR:C")
	if out, _, err := varve(t, "plan", "-f", filepath.Join(edited, "rf.yaml"), "--current", current); exitCode(err) != exitProblems || !strings.Contains(out, "3 unchanged\n\nlater:\n  + default/rf: the group expires at 2127-01-01T00:00:00Z\n") {
		t.Errorf("with an expiry: %v\n%s", err, out)
	}
	writeGroup(t, edited, "more", "", "SR:E1", "SR:E2", "SR:E3")
	if out, _, _ := varve(t, "plan", "-f", edited, "--current", current, "--most", "1"); !strings.Contains(out, "  … and 3 more; --most 0 prints all\n") {
		t.Errorf("with --most 1:\n%s", out)
	}
	writeGroup(t, edited, "finder", "  channelsFrom: [{channelFinder: {url: 'http://127.0.0.1:1/ChannelFinder', query: '~tag=a'}}]\n", "SR:F")
	if out, _, _ := varve(t, "plan", "-f", edited, "--current", current); !strings.Contains(out, "note: the plan lacks the PVs that ChannelFinder lists for 1 groups (default/finder); use --channelfinder\n") {
		t.Errorf("with ChannelFinder:\n%s", out)
	}
}

// TestPlanShowsDeletedSamples checks that a plan names the samples that a change would delete, and only those.
func TestPlanShowsDeletedSamples(t *testing.T) {
	current, edited := t.TempDir(), t.TempDir()
	const old = "  deletions:\n  - {pvs: ['SR:A'], to: 2026-01-01T00:00:00Z, reason: test}\n"
	writeGroup(t, current, "a", old, "SR:A", "SR:B")
	writeGroup(t, edited, "a", old+"  - {match: '^SR', count: 2, from: 2026-02-01T00:00:00Z, to: 2026-02-02T00:00:00Z, reason: bad calibration}\n", "SR:A", "SR:B")
	out, _, err := varve(t, "plan", "-f", edited, "--current", current)
	const want = "samples DELETED for good, without a way back:\n" +
		"  default/a deletions[1]: samples from 2026-02-01T00:00:00Z to 2026-02-02T00:00:00Z of 2 PVs (bad calibration)\n    SR:A\n    SR:B\n"
	if exitCode(err) != exitProblems || err.Error() != "0 PVs would change now, and 0 events later; 1 deletions of samples would begin" || !strings.Contains(out, want) {
		t.Errorf("a deletion gives %v:\n%s", err, out)
	}
	writeGroup(t, edited, "a", "  deletions: [{match: '.*', to: 2026-01-01T00:00:00Z, reason: test}]\n", "SR:A")
	if _, _, err := varve(t, "plan", "-f", edited, "--current", current); exitCode(err) != exitFailed || !strings.Contains(err.Error(), "set count together with match") {
		t.Errorf("a deletion by match without a count: %v", err)
	}
}

// TestPlanKnowsPolicies checks that a plan of files knows which PVs the policies of varve standalone refuse.
func TestPlanKnowsPolicies(t *testing.T) {
	current, edited, policies := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "policies.yaml")
	writeGroup(t, current, "vacuum", "", "SR:VAC:A")
	writeGroup(t, edited, "vacuum", "", "SR:VAC:A", "SR:RF:B")
	text := "apiVersion: varve.dev/v1alpha1\nkind: ArchivePolicy\nmetadata: {name: rf}\nspec: {archiverRef: {name: main}, prefixes: ['SR:RF:'], owners: {archiveGroups: [rf]}, readers: {everybody: true}}\n"
	if err := os.WriteFile(policies, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _, err := varve(t, "plan", "-f", edited, "--current", current, "--policies", policies)
	if exitCode(err) != exitProblems || err.Error() != "0 PVs would change now, and 0 events later; 1 problems are new" || !strings.Contains(out, "new problems:\n  default/vacuum: SR:RF:B") {
		t.Errorf("with policies: %v\n%s", err, out)
	}
	if _, _, err := varve(t, "plan", "-f", edited, "--archiver", "main", "--policies", policies); exitCode(err) != exitFailed || !strings.Contains(err.Error(), "--policies is for --current only") {
		t.Errorf("with policies and a cluster: %v", err)
	}
	if _, _, err := varve(t, "plan", "-f", edited, "--current", current, "--policies", policies+"x"); exitCode(err) != exitFailed || !strings.Contains(err.Error(), "--policies: ") {
		t.Errorf("without the file of policies: %v", err)
	}
}

// TestPlanShowsNewProblems checks that a new problem is a difference for programs, and that a plan says what it cannot know.
func TestPlanShowsNewProblems(t *testing.T) {
	current, edited := t.TempDir(), t.TempDir()
	writeGroup(t, current, "a", "", "SR:A")
	writeGroup(t, edited, "a", "  rules: [{match: '.{0,99}.{0,99}', paused: true}]\n", "SR:A")
	out, _, err := varve(t, "plan", "-f", edited, "--current", current)
	if exitCode(err) != exitProblems || err.Error() != "0 PVs would change now, and 0 events later; 1 problems are new" || !strings.Contains(out, "new problems:\n  default/a: parsing rules[0].match") {
		t.Errorf("a new problem gives %v:\n%s", err, out)
	}
	writeGroup(t, current, "listed", "  channelsFrom: [{configMap: {name: pvs}}]\n", "SR:B")
	if out, _, err := varve(t, "plan", "-f", current, "--current", current); err != nil || !strings.Contains(out, "note: ConfigMaps of 1 groups in effect are missing or have no label (default/listed): the archive still captures") {
		t.Errorf("with a missing ConfigMap: %v\n%s", err, out)
	}
	unreadable := &changePlan{incomplete: errors.New("you may not read ArchivePolicies")}
	if err := unreadable.result(); exitCode(err) != exitFailed || err.Error() != "you may not read ArchivePolicies" {
		t.Errorf("without a right, an empty plan ends with %v", err)
	}
	if unreadable.Removed, unreadable.PVs = 1, []plan.PV{{Name: "A", Action: plan.Remove}}; exitCode(unreadable.result()) != exitProblems {
		t.Errorf("without a right, a change ends with %v", unreadable.result())
	}
}

// TestPlanNamesWhatIsWrong checks that a plan that cannot be made ends with code 2 and names the reason.
func TestPlanNamesWhatIsWrong(t *testing.T) {
	dir, broken := t.TempDir(), t.TempDir()
	writeGroup(t, dir, "a", "", "SR:A")
	writeGroup(t, broken, "a", "  sampling: {mode: Often}\n", "SR:A")
	for args, want := range map[string]string{
		"":          "--file",
		"-f " + dir: "--current or --archiver",
		"-f " + dir + " --current x --archiver x":                                           "--current or --archiver",
		"-f " + broken + " --current " + dir:                                                "spec.sampling.mode",
		"-f " + dir + " --current " + broken:                                                "spec.sampling.mode",
		"-f " + dir + " --current " + dir + " -o yaml":                                      "--format",
		"-f " + dir + " --current " + dir + " --most -1":                                    "--most",
		"-f " + dir + " --current " + dir + " extra":                                        "-f takes one file",
		"-f " + dir + " --archiver A_B":                                                     "--archiver",
		"-f " + dir + " --archiver main --kubeconfig " + filepath.Join(dir, "no-such-file"): "--kubeconfig",
	} {
		_, _, err := varve(t, append([]string{"plan"}, strings.Fields(args)...)...)
		if err == nil || exitCode(err) != exitFailed || !strings.Contains(err.Error(), want) {
			t.Errorf("varve plan %s: %v, want %q", args, err, want)
		}
	}
}
