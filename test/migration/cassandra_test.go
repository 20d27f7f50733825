package migration

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/cassandra"
	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// openKeyspace opens an archive in Cassandra.
func openKeyspace(t *testing.T, ks cassandra.Keyspace) store.Store {
	t.Helper()
	cfg := cql.Config{Hosts: []string{ks.Addr}, Keyspace: ks.Name, Timeout: 30 * time.Second, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	st, err := cassandrastore.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// before2026 leaves out the months of live samples.
func before2026(a account) account {
	for _, months := range a {
		for month := range months {
			if month >= "2026" {
				delete(months, month)
			}
		}
	}
	return a
}

// inRollups returns how many samples from before 2026 the rollups of a PV have.
func inRollups(t *testing.T, st store.Store, pv string) (n int) {
	t.Helper()
	end := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	c, _, err := st.Channel(t.Context(), pv)
	if err != nil || len(c.Levels) != 1 {
		t.Fatalf("%s has the levels %v, %v", pv, c.Levels, err)
	}
	for row, err := range st.Rollups(t.Context(), pv, c.Levels[0], 0, c.Levels[0].Tile(end)) {
		if err != nil {
			t.Fatal(err)
		}
		var tile rollup.Tile
		if err := rollup.Decode(&tile, &row); err != nil {
			t.Fatal(err)
		}
		for _, b := range tile.Bins {
			if b.Start < end {
				n += int(b.Count)
			}
		}
	}
	return n
}

// inCassandra returns the flags of an archive in Cassandra.
func inCassandra(ks cassandra.Keyspace) []string {
	return []string{"--cassandra", ks.Addr, "--cassandra-keyspace", ks.Name}
}

// few is how often the short test kills the import.
const few = 2

// TestImportsIntoCassandra has the long form TestLong_ImportsIntoCassandra.
func TestImportsIntoCassandra(t *testing.T) { importWhileCapturing(t, few, 14, 200) }

// TestLong_ImportsIntoCassandra kills the import ten times. It also imports while no engine runs.
func TestLong_ImportsIntoCassandra(t *testing.T) { importWhileCapturing(t, 10, 56, 2000) }

// importWhileCapturing imports files into an archive in Cassandra whose engine captures some of the same PVs. It kills
// the import several times, and completes it. The archive must have each sample of the files and of the IOC once.
func importWhileCapturing(t *testing.T, kills, pvs, samples int) {
	files, ks := t.TempDir(), cassandra.Shared(t)
	want := generate(t, files, pvs, samples)
	flags := inCassandra(ks)
	var live []string
	for pv := range want {
		if strings.HasSuffix(pv, ":DOUBLE") || strings.HasSuffix(pv, ":INT") {
			live = append(live, pv)
		}
	}
	live = append(live, archive.Names("LIVE:", 20)...)
	groups := t.TempDir()
	program.WriteGroup(t, groups, "live", program.Group("live", "retention: {rollups: [{every: 1m}]}", live...))
	ioc := epics.StartIOC(t, archive.Counting(live))
	a := program.Standalone(t, ioc.ClientEnv(), append([]string{"-f", groups, "--checkpoint", "4s"}, flags...)...)
	begin := a.AwaitSamples(len(live))

	rng := rand.New(rand.NewPCG(1, 1))
	for range kills {
		ctx, kill := context.WithTimeout(t.Context(), time.Duration(3000+rng.IntN(8000))*time.Millisecond)
		_ = exec.CommandContext(ctx, program.Path(), append([]string{"import", "data", "--from", "appliance-files", files}, flags...)...).Run()
		kill()
	}
	out := runImportInto(t, files, append(flags, "--verify")...)
	t.Log(out)
	if !strings.Contains(out, "; 0 of ") {
		t.Errorf("the verification prints %s", out)
	}
	st := openKeyspace(t, ks)
	if d := cmp.Diff(want, before2026(storedIn(t, st, want))); d != "" {
		t.Fatalf("months differ (-files +archive):\n%s", d)
	}
	for pv, months := range want {
		if !slices.Contains(live, pv) {
			continue
		}
		if has, samples := inRollups(t, st, pv), (account{pv: months}).samples(); has != samples {
			t.Errorf("the rollups of %s have %d of %d samples", pv, has, samples)
		}
	}
	out = runImportInto(t, files, flags...)
	if !strings.Contains(out, " 0 stored, "+strconv.Itoa(want.samples())+" in the archive before") {
		t.Errorf("another import of %d samples prints %s", want.samples(), out)
	}
	a.GoOn(2 * time.Second)
	for pv, events := range a.ReadAll(live, begin) {
		tally := archive.NewTally(events)
		if len(events) < 20 || tally.Lost > 0 || tally.Duplicated > 0 {
			t.Errorf("%s: of the samples of the IOC, the archive has %v", pv, tally)
		}
	}
	for pv := range want { // an import that dies is no reason for a gap
		for _, m := range a.Marks(pv, begin.Add(-time.Hour)) {
			if m.Kind == "died" || m.Kind == "lost" {
				t.Errorf("%s has the mark %+v", pv, m)
			}
		}
	}
	a.Stop()

	for what, args := range map[string][]string{
		"start the engines of this archive": flags,
		"check --cassandra-keyspace none":   {"--cassandra", ks.Addr, "--cassandra-keyspace", "none"},
	} {
		if what[0] == 's' && kills == few {
			continue // it takes half a minute
		}
		var errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), program.Path(), append([]string{"import", "data", "--from", "appliance-files", files}, args...)...)
		cmd.Stderr = &errs
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(errs.String(), what) {
			t.Errorf("the import ends with %v, and says %s; want %q", err, errs.String(), what)
		}
	}
}
