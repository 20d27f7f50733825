package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/varve/groups/validate"
)

// TestValidate checks the output and the exit codes of varve validate.
func TestValidate(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "ring")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	writeGroup(t, dir, "good", "", "SR:A")
	writeGroup(t, sub, "bad", "  redundancy: 3\n", "SR:B")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("deployment.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n")
	bad := filepath.Join(sub, "bad.yaml")

	out, _, err := varve(t, "validate", "-f", dir)
	if err != nil || !strings.Contains(out, "deployment.yaml:1:1: skipped web: kind Deployment of apps/v1 is not Varve's\n") || !strings.Contains(out, "2 objects: 1 valid, 0 invalid, 1 skipped; 0 errors, 0 warnings\n") {
		t.Errorf("a good directory: %v\n%s", err, out)
	}
	out, _, err = varve(t, "validate", "-R", "-f", dir)
	if exitCode(err) != exitProblems || !strings.Contains(out, bad+":6:3: error: ArchiveGroup default/bad: spec.redundancy: Invalid value: 3: spec.redundancy in body should be less than or equal to 2\n") {
		t.Errorf("with subdirectories: %v\n%s", err, out)
	}
	out, _, err = varve(t, "validate", "-f", bad)
	if err == nil || err.Error() != "the manifests have 1 error" || !strings.Contains(out, "\n1 object: 0 valid, 1 invalid, 0 skipped; 1 error, 0 warnings\n") {
		t.Errorf("one error: %v\n%s", err, out)
	}
	out, _, err = varve(t, "validate", "-o", "json", "-f", filepath.Join(dir, "good.yaml"), bad)
	var report validate.Report
	if exitCode(err) != exitProblems || json.Unmarshal([]byte(out), &report) != nil || len(report.Objects) != 2 ||
		len(report.Findings) != 1 || report.Findings[0].Field != "spec.redundancy" || report.Findings[0].By != validate.ByAPIServer {
		t.Errorf("JSON of two files: %v\n%s", err, out)
	}
	if out, _, err = varve(t, "validate", "--strict", "-f", dir); exitCode(err) != exitProblems || !strings.Contains(out, "cannot be checked") {
		t.Errorf("with --strict: %v\n%s", err, out)
	}
	for _, args := range []string{"validate", "validate -f " + filepath.Join(dir, "missing"), "validate -f " + t.TempDir(), "validate -f . -o xml", "validate --wrong", "validate -f - -f -"} {
		if _, _, err := varve(t, strings.Fields(args)...); exitCode(err) != exitFailed {
			t.Errorf("varve %s: %v", args, err)
		}
	}
}
