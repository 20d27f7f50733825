package compat

import (
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/test/checkout"
	"varve.dev/varve/test/compat/golden"
	run "varve.dev/varve/test/program"
)

// TestLong_ReleasesReadWhatTodaysCodeStores lets the program of each release read its archive after today's
// code has continued it. Once the archive is finalized, the program refuses it.
func TestLong_ReleasesReadWhatTodaysCodeStores(t *testing.T) {
	for _, a := range releases(t) {
		t.Run(a.Release, func(t *testing.T) {
			file := program(t, &a)
			t.Run("directory", func(t *testing.T) {
				dir := directory(t, &a)
				goBack(t, &a, file, []string{"--data", dir}, func() (store.Store, error) { return pebble.Open(dir, pebble.Options{}) })
			})
			t.Run("keyspace", func(t *testing.T) {
				cfg := keyspace(t, &a)
				if err := schema.Create(t.Context(), cfg); err != nil {
					t.Fatal(err)
				}
				flags := []string{"--cassandra", cfg.Hosts[0], "--cassandra-keyspace", cfg.Keyspace}
				goBack(t, &a, file, flags, func() (store.Store, error) { return cassandrastore.Open(t.Context(), cfg) })
			})
		})
	}
}

// goBack continues an archive, goes back to the program of its release, goes on to today's code again, and
// finalizes.
func goBack(t *testing.T, a *golden.Archive, file string, flags []string, open func() (store.Store, error)) {
	t.Helper()
	today := func(do func(store.Store) error) {
		t.Helper()
		st, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(do(st), st.Close()); err != nil {
			t.Fatal(err)
		}
	}
	group := filepath.Join(t.TempDir(), "group.yaml")
	if err := os.WriteFile(group, []byte(groupYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	flags = append(flags, "-f", group)
	alone := []string{"EPICS_CA_ADDR_LIST=127.0.0.1", "EPICS_CA_AUTO_ADDR_LIST=NO"}

	today(func(st store.Store) error { return golden.Append(t.Context(), st, golden.Rounds) })
	old := run.StandaloneOf(t, file, alone, flags...)
	more := golden.Expected(a.Release, a.Commit, golden.Rounds+1)
	for i := range more.PVs {
		same(t, &more.PVs[i], served(t, old, more.PVs[i].Name))
	}
	old.Stop()
	today(func(st store.Store) error {
		checkAll(t, st, &more)
		_, err := st.Finalize(t.Context())
		return err
	})
	refused := run.LaunchOf(t, file, alone, append([]string{"standalone", "--listen", "127.0.0.1:0"}, flags...)...)
	if code := refused.Wait(); code == 0 || !strings.Contains(refused.Log.String(), "version 6") {
		t.Errorf("with a finalized archive, the program exits with %d:\n%s", code, refused.Log.Tail())
	}
	today(func(st store.Store) error {
		checkAll(t, st, &more)
		return nil
	})
}

const groupYAML = `apiVersion: varve.dev/v1alpha1
kind: ArchiveGroup
metadata: {name: golden}
spec:
  archiverRef: {name: main}
  channels: [{name: "golden:none"}]
`

// served returns the samples that a program serves of a PV.
func served(t *testing.T, a *run.Archiver, pv string) (out []golden.Sample) {
	t.Helper()
	var answer struct {
		Runs []struct{ Samples []golden.Sample }
	}
	a.Decode("/api/v1/samples", url.Values{"pv": {pv}, "from": {"2026-01-01T00:00:00Z"}, "to": {"2026-02-01T00:00:00Z"}}, &answer)
	for _, r := range answer.Runs {
		out = append(out, r.Samples...)
	}
	return out
}

// program builds the program of a release from the history of the repository. Without the history, the
// test is skipped, except in CI.
func program(t *testing.T, a *golden.Archive) string {
	t.Helper()
	git := func(args ...string) error {
		out, err := exec.Command("git", slices.Concat([]string{"-C", checkout.Root()}, args)...).CombinedOutput()
		if err != nil {
			err = errors.Join(err, errors.New(string(out)))
		}
		return err
	}
	if err := git("cat-file", "-e", a.Commit); err != nil {
		const advice = "the program of release %s is not tested, because the repository lacks commit %s: run git fetch --unshallow"
		if os.Getenv("CI") != "" {
			t.Fatalf(advice, a.Release, a.Commit)
		}
		t.Skipf(advice, a.Release, a.Commit)
	}
	dir := t.TempDir()
	source, file := filepath.Join(dir, "source.tar"), filepath.Join(dir, "varve")
	if err := git("archive", "--output", source, a.Commit); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-xf", source, "-C", tree).CombinedOutput(); err != nil {
		t.Fatalf("unpacking the sources: %v\n%s", err, out)
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "./cmd/varve")
	build.Dir, build.Env = tree, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building release %s: %v\n%s", a.Release, err, out)
	}
	return file
}
