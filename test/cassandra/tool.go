package cassandra

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// DataDir is where the node keeps its tables, in a directory per keyspace.
func (n *Node) DataDir() string { return filepath.Join(n.dir, "1", "data") }

// WriteNodetool puts an executable into a directory that is Cassandra's own tool for this
// node, so that scripts with the directory in PATH have it as nodetool, as on a server.
func (n *Node) WriteNodetool(tb testing.TB, dir string) {
	tb.Helper()
	var script strings.Builder
	script.WriteString("#!/bin/sh\n")
	for _, v := range n.env {
		fmt.Fprintf(&script, "export '%s'\n", v)
	}
	fmt.Fprintf(&script, "exec '%s' nodetool 1 \"$@\"\n", n.script)
	if err := os.WriteFile(filepath.Join(dir, "nodetool"), []byte(script.String()), 0o700); err != nil {
		tb.Fatal(err)
	}
}

// Destroy ends the node at once, and takes its disk away.
func (n *Node) Destroy(tb testing.TB) {
	tb.Helper()
	n.kill()
	if err := os.RemoveAll(filepath.Join(n.dir, "1")); err != nil {
		tb.Fatal(err)
	}
}
