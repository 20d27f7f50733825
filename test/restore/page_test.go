package restore

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"varve.dev/varve/test/cassandra"
)

// keyspace is the keyspace of the archive.
const keyspace = "varve"

// page holds the commands of docs/backup.md by the name of their step.
type page struct {
	t     *testing.T
	steps map[string]string
}

// step matches a code block that has a step name after its language.
var step = regexp.MustCompile("(?s)\n```sh ([a-z0-9-]+)\n(.*?)\n```\n")

func readPage(t *testing.T) page {
	t.Helper()
	text, err := os.ReadFile("../../docs/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	p := page{t, map[string]string{}}
	for _, m := range step.FindAllStringSubmatch(string(text), -1) {
		p.steps[m[1]] = m[2]
	}
	return p
}

// run runs the commands of a step in a directory, as the administrator of one node does. It
// sets the variables that the page asks the reader to set. The shell function on runs a
// command on the node.
func (p page) run(node *cassandra.Node, dir, name string, vars ...string) {
	p.t.Helper()
	commands, ok := p.steps[name]
	if !ok {
		p.t.Fatalf("docs/backup.md has no step %s", name)
	}
	bin := p.t.TempDir()
	node.WriteNodetool(p.t, bin)
	cmd := exec.CommandContext(p.t.Context(), "bash", "-euo", "pipefail", "-c", `on() { shift; bash -c "$*"; }`+"\n"+commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "NODES=pod/node", "TAG=backup", "DATA="+node.DataDir(),
		"KEYSPACE="+keyspace)
	cmd.Env = append(cmd.Env, vars...)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("step %s of docs/backup.md: %v\n%s", name, err, out)
	}
}

// unpack unpacks the tar file of a node that a backup step created.
func unpack(t *testing.T, from, to string) {
	t.Helper()
	tar(t, "xf", filepath.Join(from, "node.tar"), "-C", to)
}

// pack packs some of the unpacked tables into a new tar file.
func pack(t *testing.T, from, to string, some func(table string) bool) {
	t.Helper()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"cf", filepath.Join(to, "node.tar"), "-C", from}
	for _, e := range entries {
		if table, _, _ := strings.Cut(e.Name(), "-"); some(table) {
			args = append(args, e.Name())
		}
	}
	tar(t, args...)
}

func tar(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "tar", args...).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
}

// packWrongOrder packs a backup in the wrong order, with claims that were copied after the
// journal and the blocks. It omits the tables of bins and marks, and those that only the PV
// kept for 90 days needs.
func packWrongOrder(t *testing.T, node *cassandra.Node, to string) {
	t.Helper()
	dir := t.TempDir()
	for table, snapshot := range map[string]string{
		"claim": "backup-3", "journal": "backup-2", "block_forever": "backup-2", "block_part_forever": "backup-3", "channel": "backup-3",
	} {
		found, err := filepath.Glob(filepath.Join(node.DataDir(), keyspace, table+"-*", "snapshots", snapshot))
		if err != nil || len(found) != 1 {
			t.Fatalf("snapshot %s of %s is at %q: %v", snapshot, table, found, err)
		}
		name := filepath.Base(filepath.Dir(filepath.Dir(found[0])))
		if err := os.CopyFS(filepath.Join(dir, name, "snapshots", snapshot), os.DirFS(found[0])); err != nil {
			t.Fatal(err)
		}
	}
	pack(t, dir, to, func(string) bool { return true })
}
