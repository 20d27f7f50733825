package cassandra

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// DataDir returns the directory in which the node stores its tables. It has one subdirectory
// per keyspace.
func (n *Node) DataDir() string { return filepath.Join(n.dir, "1", "data") }

// WriteNodetool writes an executable named nodetool, which runs Cassandra's nodetool for this
// node. Scripts with the directory in PATH find it, as on a server.
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

// Destroy kills the node and deletes its data.
func (n *Node) Destroy(tb testing.TB) {
	tb.Helper()
	n.kill()
	if err := os.RemoveAll(filepath.Join(n.dir, "1")); err != nil {
		tb.Fatal(err)
	}
}
