// Package migration imports files as the Archiver Appliance writes them, and compares the archive with
// an independent account of their samples.
//
//	testdata/generate.py ─┬─ files ─▶ varve import data ─▶ archive ─▶ query.Reader ─▶ counts, hashes
//	                      └─ counts and hashes by PV and month ─────────────▶ compare ◀─┘
package migration

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/test/cassandra"
	"varve.dev/varve/test/program"
)

func TestMain(m *testing.M) {
	os.Exit(program.Run(func() int { return cassandra.Run(m.Run) }))
}

// digest is the number of samples of a month, and a hash of them.
type digest struct {
	Count int    `json:"count"`
	Hash  string `json:"hash"`
}

// account has the digests by PV and month.
type account map[string]map[string]digest

// generate writes files of PVs below a directory, and returns the account of their samples.
func generate(t *testing.T, dir string, pvs, samples int) account {
	t.Helper()
	python, err := exec.CommandContext(t.Context(), "../../hack/venv.sh", "clients").Output()
	if err != nil {
		t.Fatalf("installing the Python environment: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), strings.TrimSpace(string(python)), "testdata/generate.py", dir, strconv.Itoa(pvs), strconv.Itoa(samples))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("generating files: %v", err)
	}
	var a account
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// stored returns the account of an archive.
func stored(t *testing.T, dir string, pvs account) account {
	t.Helper()
	st, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	return storedIn(t, st, pvs)
}

// storedIn returns the account of a store.
func storedIn(t *testing.T, st store.Store, pvs account) account {
	t.Helper()
	r := &query.Reader{Store: st, Shards: 64}
	return digests(t, pvs, func(pv string) iter.Seq2[*sample.Run, error] {
		read, err := r.Read(t.Context(), pv, query.Earliest, query.Latest, query.Options{})
		if err != nil {
			t.Fatalf("reading %s: %v", pv, err)
		}
		return read.All
	})
}

// digests returns the account of the samples that a function reads.
func digests(t *testing.T, pvs account, read func(pv string) iter.Seq2[*sample.Run, error]) account {
	t.Helper()
	out := account{}
	for pv := range pvs {
		hashes := map[string]hash.Hash{}
		out[pv] = map[string]digest{}
		for run, err := range read(pv) {
			if err != nil {
				t.Fatalf("reading %s: %v", pv, err)
			}
			for i := range run.Len() {
				month := time.Unix(0, run.Times[i]).UTC().Format("2006-01")
				if hashes[month] == nil {
					hashes[month] = sha256.New()
				}
				hashes[month].Write(encode(run, i))
				out[pv][month] = digest{Count: out[pv][month].Count + 1}
			}
		}
		for month, h := range hashes {
			out[pv][month] = digest{out[pv][month].Count, hex.EncodeToString(h.Sum(nil))}
		}
	}
	return out
}

// encode returns a sample as generate.py hashes it.
func encode(r *sample.Run, i int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(r.Times[i]))
	b = binary.LittleEndian.AppendUint32(b, uint32(r.Tags[i].Severity()))
	b = binary.LittleEndian.AppendUint32(b, uint32(r.Tags[i].Status()))
	if r.Type.Fixed() {
		return binary.LittleEndian.AppendUint64(b, r.Words[i])
	}
	return append(b, r.Value(i)...)
}

// runImport imports files, and returns what it prints. All files of the tests have damage, so the
// exit code is 1.
func runImport(t *testing.T, files, archive string, flags ...string) string {
	t.Helper()
	return runImportInto(t, files, append([]string{"--data", archive}, flags...)...)
}

// runImportInto is runImport into the archive that flags name.
func runImportInto(t *testing.T, files string, flags ...string) string {
	t.Helper()
	args := append([]string{"import", "data", "--from", "appliance-files", files}, flags...)
	var errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program.Path(), args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("importing: %v\n%s", err, errs.String())
	}
	return string(out)
}

// samples returns the number of samples of an account.
func (a account) samples() (n int) {
	for _, months := range a {
		for _, d := range months {
			n += d.Count
		}
	}
	return n
}

// TestImportsWhatTheApplianceStored imports PVs of all types, with changes of the type, the end of a
// leap year, all partitions, damaged lines, and files that are being written, twice.
func TestImportsWhatTheApplianceStored(t *testing.T) {
	files, archive := t.TempDir(), t.TempDir()
	want := generate(t, files, 14, 100)
	out := runImport(t, files, archive)
	if !strings.Contains(out, strconv.Itoa(want.samples())+" stored, 0 in the archive before") {
		t.Errorf("the first import of %d samples prints %s", want.samples(), out)
	}
	for range 2 {
		if d := cmp.Diff(want, stored(t, archive, want)); d != "" {
			t.Fatalf("months differ (-files +archive):\n%s", d)
		}
		out = runImport(t, files, archive)
		if !strings.Contains(out, " 0 stored, "+strconv.Itoa(want.samples())+" in the archive before") {
			t.Errorf("another import of %d samples prints %s", want.samples(), out)
		}
	}
}

// TestADryRunStoresNothing also checks that the report names each PV.
func TestADryRunStoresNothing(t *testing.T) {
	files, archive, report := t.TempDir(), t.TempDir()+"/archive", t.TempDir()+"/report"
	want := generate(t, files, 5, 40)
	out := runImport(t, files, archive, "--dry-run", "--report", report)
	if _, err := os.Stat(archive); err == nil {
		t.Error("the dry run has created the directory of the archive")
	}
	if !strings.Contains(out, strconv.Itoa(want.samples())+" to be stored") {
		t.Errorf("a dry run of %d samples prints %s", want.samples(), out)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	for pv := range want {
		if !strings.Contains(string(text), `{"pv":"`+pv+`","read":`) {
			t.Errorf("the report does not name %s", pv)
		}
	}
	if out := runImport(t, files, archive); !strings.Contains(out, strconv.Itoa(want.samples())+" stored, 0 in the archive before") {
		t.Errorf("the import after the dry run prints %s", out)
	}
}

// TestImportsAndVerifiesSelectedPVs imports the PVs of a file, one of which has no files.
func TestImportsAndVerifiesSelectedPVs(t *testing.T) {
	files, archive, list, report := t.TempDir(), t.TempDir(), t.TempDir()+"/pvs", t.TempDir()+"/report"
	want := generate(t, files, 4, 100)
	if err := os.WriteFile(list, []byte("# two of them\nMIG00-*\nMIG01-DI:PV-1:DOUBLE\nMIG99:NONE\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	out := runImport(t, files, archive, "--pvs", list, "--verify", "--rate", "1e9", "--report", report)
	if !strings.Contains(out, "2 of 2 PVs: ") || !strings.Contains(out, "verified 2 of 2 PVs: ") || !strings.Contains(out, "; 0 of ") {
		t.Errorf("the import prints %s", out)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for line := range strings.Lines(string(text)) {
		var r struct {
			PV     string `json:"pv"`
			Months []struct {
				Month           string
				Source, Archive digest
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		for _, m := range r.Months {
			if compared++; m.Source != m.Archive || m.Source.Count != want[r.PV][m.Month].Count {
				t.Errorf("%s %s: the report has %+v, want %d samples", r.PV, m.Month, m, want[r.PV][m.Month].Count)
			}
		}
	}
	if compared < 8 {
		t.Errorf("the report compares %d months", compared)
	}
}

// TestLong_AnImportThatIsKilledIsWhole kills an import ten times, at random, and then completes it.
func TestLong_AnImportThatIsKilledIsWhole(t *testing.T) {
	files, archive := t.TempDir(), t.TempDir()
	want := generate(t, files, 60, 2000)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 10 {
		ctx, kill := context.WithTimeout(t.Context(), time.Duration(20+rng.IntN(1500))*time.Millisecond)
		_ = exec.CommandContext(ctx, program.Path(), "import", "data", "--from", "appliance-files", files, "--data", archive).Run()
		kill()
	}
	runImport(t, files, archive)
	if d := cmp.Diff(want, stored(t, archive, want)); d != "" {
		t.Fatalf("months differ (-files +archive):\n%s", d)
	}
	if out, err := exec.CommandContext(t.Context(), program.Path(), "store", "check", "--data", archive).CombinedOutput(); err != nil {
		t.Errorf("the check of the archive fails: %v\n%s", err, out)
	}
}
