package migration

import (
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/test/program"
)

// large runs large.py.
func large(t *testing.T, args ...string) []byte {
	t.Helper()
	python, err := exec.CommandContext(t.Context(), "../../hack/venv.sh", "clients").Output()
	if err != nil {
		t.Fatalf("installing the Python environment: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), strings.TrimSpace(string(python)), append([]string{"testdata/large.py"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("large.py %s: %v", args[0], err)
	}
	return out
}

// TestLong_ALargeTreeIsImportedAsAnIndependentReaderReadsIt imports 500 PVs of three years, with changes of the year and the
// type, disconnects, arrays, and damage of all kinds, and compares counts and hashes by month. Imported again, nothing is
// stored. Imported over HTTP from the archive, the same samples are found.
func TestLong_ALargeTreeIsImportedAsAnIndependentReaderReadsIt(t *testing.T) {
	files, archive, again := t.TempDir(), t.TempDir(), t.TempDir()
	large(t, "write", files, "500", "2000")
	var want account
	if err := json.Unmarshal(large(t, "read", files), &want); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	out := runImport(t, files, archive)
	t.Logf("imported in %v; %s", time.Since(began), out)
	if !strings.Contains(out, strconv.Itoa(want.samples())+" stored, 0 in the archive before") {
		t.Errorf("the import of %d samples prints %s", want.samples(), out)
	}
	if d := cmp.Diff(want, stored(t, archive, want)); d != "" {
		t.Fatalf("months differ (-Python +archive):\n%.4000s", d)
	}
	if out = runImport(t, files, archive); !strings.Contains(out, " 0 stored, "+strconv.Itoa(want.samples())+" in the archive before") {
		t.Errorf("another import of %d samples prints %s", want.samples(), out)
	}
	server := serveArchive(t, archive)
	cmd := exec.CommandContext(t.Context(), program.Path(), "import", "data", "--from", "appliance-http", server.URL+"/retrieval", "--pv", "*LRG*", "--data", again)
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("importing over HTTP: %v\n%.2000s", err, text)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		t.Logf("importing over HTTP took %d MiB and %v of CPU time", usage.Maxrss>>10, cmd.ProcessState.UserTime())
	}
	some := account{}
	for pv, months := range want {
		if strings.Contains(pv, "LRG") {
			some[pv] = months
		}
	}
	if d := cmp.Diff(some, stored(t, again, some)); d != "" {
		t.Errorf("over HTTP, months differ (-Python +archive):\n%.4000s", d)
	}
}
