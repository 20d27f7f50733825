package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

// storeDays stores one sample of a PV per day, for the given number of days up to now, in
// blocks of a day.
func storeDays(t *testing.T, st store.Store, pv string, days int, r store.Tier) {
	t.Helper()
	for n := range days {
		at := time.Now().Add(-time.Duration(n) * 24 * time.Hour).UnixNano()
		run := &sample.Run{Type: sample.Float64}
		run.Append(&sample.Sample{Time: at, Word: math.Float64bits(1)})
		b := store.Day.Of(at).In(r)
		if err := st.AddChannel(t.Context(), store.Channel{PV: pv, Starts: []store.Bucket{b}}); err != nil {
			t.Fatal(err)
		}
		if err := st.PutBlocks(t.Context(), store.Block{
			BlockKey: store.BlockKey{PV: pv, Bucket: b, Start: at, Writer: store.WriterID{1}, N: uint32(n)},
			End:      at, Count: 1, Type: run.Type, Blob: block.Append(nil, run),
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func varve(t *testing.T, args ...string) (out, problems string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(&o)
	root.SetErr(&e)
	err = root.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

func TestRetentionPlan(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	st, err := pebble.Open(data, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	storeDays(t, st, "SR:A", 200, store.Forever)
	storeDays(t, st, "SR:B", 50, store.Keep90d)
	storeDays(t, st, "SR:OLD", 7, store.Forever)
	storeDays(t, st, "SR:C", 10, store.Keep7d)
	groups := filepath.Join(dir, "groups.yaml")
	if err := os.WriteFile(groups, []byte(`apiVersion: varve.dev/v1alpha1
kind: ArchiveGroup
metadata: {name: vacuum}
spec: {archiverRef: {name: main}, retention: {raw: 45d, rollups: [{every: 10s, keep: 2y}]}, channels: [{name: "SR:A"}, {name: "SR:B"}, {name: "SR:NEW"}]}
---
apiVersion: varve.dev/v1alpha1
kind: ArchiveGroup
metadata: {name: rf}
spec: {archiverRef: {name: main}, retention: {raw: 1d}, channels: [{name: "SR:B"}, {name: "SR:C", retention: {raw: 1y}}]}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	plan := []string{"retention", "plan", "-f", groups, "--data", data}
	if _, _, err := varve(t, plan...); err == nil || !strings.Contains(err.Error(), "stop the archiver") {
		t.Errorf("the error for a directory in use is %v", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	out, _, err := varve(t, append(plan, "--pvs")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"default/vacuum: 2 PVs, 1 with data\n  raw samples are kept for 90d (requested: 45d), rollups of 10s for 2y\n",
		"(91 samples)\n  deleted: ", "(109 samples), up to ", "(200 samples) kept forever, since ",
		"default/rf: 2 PVs, 2 with data\n  raw samples are kept for 1d; channels with their own retention: 1\n  more data is kept of 1 of its PVs because other groups request it\n",
		"SR:C  1y", "SR:B  90d",
		"PVs in no group: 1. Their data stays as it is", "(7 samples) kept forever",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the plan does not contain %q:\n%s", want, out)
		}
	}
	out, _, err = varve(t, append(plan, "--group", "vacuum", "--sample", "1")...)
	if err != nil || !strings.HasPrefix(out, "default/vacuum: ") || strings.Contains(out, "default/rf") {
		t.Errorf("plan of one group: %v\n%s", err, out)
	}
	for args, want := range map[string]string{
		"--group other": "--group", "--sample -1": "--sample", "--data " + dir + "/none": "--data", "-f " + dir + "/none": "--file",
	} {
		if _, _, err := varve(t, append(plan, strings.Fields(args)...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want one with %q", args, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("the command created a missing directory")
	}
}
