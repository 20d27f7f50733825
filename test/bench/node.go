package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// node is a real Cassandra node for one part of the benchmarks.
type node struct {
	addr, dir string
	env       []string // environment of nodeScript
	process   *process
}

const nodeScript = "hack/cassandra/cassandra.sh"

// startNode starts Cassandra with its files in dir, and waits until it serves CQL.
func startNode(ctx context.Context, dir string) (*node, error) {
	if out, err := exec.CommandContext(ctx, nodeScript, "fetch").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("fetching Cassandra: %w\n%s", err, out)
	}
	env := []string{"CASSANDRA_DIR=" + dir, "CASSANDRA_HEAP=1G"}
	var addr string
	for _, name := range []string{"CASSANDRA_STORAGE_PORT", "CASSANDRA_JMX_PORT", "CASSANDRA_PORT"} {
		var err error
		if addr, err = freeAddr(); err != nil {
			return nil, err
		}
		_, port, _ := strings.Cut(addr, ":")
		env = append(env, name+"="+port)
	}
	p, err := start(dir, "cassandra", env, nodeScript, "run", "1")
	if err != nil {
		return nil, err
	}
	n := &node{addr: addr, dir: dir, env: env, process: p}
	up := func() bool {
		c, err := net.Dial("tcp", addr)
		return err == nil && c.Close() == nil
	}
	if err := await(ctx, "Cassandra serves CQL", 3*time.Minute, up); err != nil {
		_ = n.stop()
		return nil, err
	}
	return n, nil
}

// stop stops the node. Java exits with code 143 after SIGTERM, which is not an error.
func (n *node) stop() error {
	err := n.process.stop()
	if err != nil && n.process.cmd.ProcessState != nil && n.process.cmd.ProcessState.ExitCode() == 143 {
		return nil
	}
	return err
}

// withNode runs f, a part of the benchmarks, with a new node.
func (b *bench) withNode(ctx context.Context, f func(n *node) error) (err error) {
	b.logf("starting Cassandra")
	dir, err := os.MkdirTemp(b.dir, "node-")
	if err != nil {
		return err
	}
	n, err := startNode(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, firstOf(n.stop(), os.RemoveAll(dir))) }()
	return f(n)
}

// compact flushes a table to disk and compacts it fully.
func (n *node) compact(ctx context.Context, keyspace, table string) error {
	for _, what := range []string{"flush", "compact"} {
		cmd := exec.CommandContext(ctx, nodeScript, "nodetool", "1", what, keyspace, table)
		cmd.Env = append(os.Environ(), n.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("nodetool %s: %w\n%s", what, err, out)
		}
	}
	return nil
}

// size returns the size in bytes of a table's files. It waits until the size no longer
// changes, because Cassandra deletes the files that a compaction has replaced a little later.
func (n *node) size(ctx context.Context, keyspace, table string) (size int64, err error) {
	last := int64(-1)
	unchanged := func() bool {
		last = size
		size, err = diskUse(filepath.Join(n.dir, "*", "data", keyspace, table+"-*"))
		return err != nil || size == last
	}
	return size, firstOf(await(ctx, "the files of "+table+" no longer change", time.Minute, unchanged), err)
}
