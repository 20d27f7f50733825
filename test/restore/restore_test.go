package restore

import (
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/varve/engine/check"
	"varve.dev/varve/test/cassandra"
	"varve.dev/varve/test/program"
)

// backup is a backup of an archive whose node is destroyed.
type backup struct {
	whole, wrong string // directories with node.tar
	// before is the number of samples of each number PV that were acknowledged before the
	// first snapshot, and between is their number before the second snapshot. The engines
	// sealed the samples in between after the second snapshot and before the third.
	before, between int
}

// TestLong_BackupLosesNothing takes a backup while engines write and seal between its steps,
// and restores it on an empty node.
func TestLong_BackupLosesNothing(t *testing.T) {
	t.Setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1") // short processes gain nothing from the optimizing compiler
	p, i := readPage(t), newIOC()
	node := cassandra.Start(t)
	createSchema(t, node, keyspace)
	f := startFleet(t, i, node)
	b := f.backUp(p, node)
	node.Destroy(t)
	f.end()

	node = cassandra.Start(t)
	createSchema(t, node, keyspace)
	tables, dir := t.TempDir(), t.TempDir()
	unpack(t, b.whole, tables)
	isJournal := func(table string) bool { return strings.HasPrefix(table, "journal") }
	pack(t, tables, dir, func(table string) bool { return !isJournal(table) })
	p.run(node, dir, "restore", "DIR="+filepath.Join(t.TempDir(), "restore"))
	r := reader(t, i, node, keyspace)
	t.Log("without the journal, as after its rows have expired:")
	r.checkSamples(b.before)
	r.checkBins(b.before)

	pack(t, tables, dir, isJournal)
	p.run(node, dir, "restore", "DIR="+filepath.Join(t.TempDir(), "restore"))
	t.Log("with the journal:")
	r.checkSamples(b.between)
	r.checkStore()

	f = startFleet(t, i, node)
	now := f.acknowledged(imageEvery) // includes one sample of the image
	f.checkpoint()
	f.end()
	t.Log("after engines have archived more samples:")
	r.checkSamples(b.between)
	r.checkBins(b.before)
	r.checkStore()
	for _, pv := range all() {
		if got := r.numbers(pv); got[len(got)-1] < last(pv, now) {
			t.Errorf("%s: the last sample is %d, but sample %d was acknowledged", pv, got[len(got)-1], last(pv, now))
		}
	}

	// The wrong order loses the samples that were sealed between the second and the third
	// snapshot. The check cannot detect this: it reports only rows that were written later and
	// that no engine had sealed yet.
	createSchema(t, node, "wrong")
	p.run(node, b.wrong, "restore", "KEYSPACE=wrong", "DIR="+filepath.Join(t.TempDir(), "restore"))
	wrong := reader(t, i, node, "wrong")
	for _, f := range wrong.check().Findings {
		if f.Severity != check.Info && f.Kind != check.MissingRow {
			t.Errorf("varve store check: %s %s, %s: %s", f.Kind, f.PV, f.Where, f.Text)
		}
	}
	if got := firstMissing(pvs[0], wrong.numbers(pvs[0])); got >= b.between {
		t.Errorf("with claims copied last, all %d samples are still there, want a loss", got)
	} else {
		t.Logf("with claims copied last, samples from %d on are lost; %d samples were acknowledged", got, b.between)
	}
}

// backUp runs the backup steps of the page. It waits for a checkpoint after the first and the
// second snapshot.
func (f *fleet) backUp(p page, node *cassandra.Node) backup {
	b := backup{whole: f.t.TempDir(), wrong: f.t.TempDir()}
	f.acknowledged(3000) // more than a rollup tile
	f.checkpoint()
	f.gate.close() // later samples are not sealed at the first snapshot
	b.before = f.acknowledged(imageEvery)
	p.run(node, b.whole, "snapshot-1")
	f.gate.open()
	f.checkpoint()
	f.gate.close()
	b.between = f.acknowledged(imageEvery)
	p.run(node, b.whole, "snapshot-2")
	f.gate.open()
	f.checkpoint()
	p.run(node, b.whole, "snapshot-3")
	p.run(node, b.whole, "save")
	packWrongOrder(f.t, node, b.wrong)
	p.run(node, b.whole, "clear")
	return b
}

// createSchema creates the schema as the page describes.
func createSchema(t *testing.T, node *cassandra.Node, keyspace string) {
	t.Helper()
	v := program.Launch(t, nil, "schema", "--cassandra", node.Addr(), "--cassandra-keyspace", keyspace, "--tiers", "90d")
	if code := v.Wait(); code != 0 {
		t.Fatalf("varve schema exits with %d", code)
	}
}
