package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"
)

// node is a real Cassandra for the length of the benchmarks.
type node struct {
	addr    string
	process *process
}

const nodeScript = "hack/cassandra/cassandra.sh"

// startNode starts Cassandra with its files below dir.
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
	n := &node{addr: addr, process: p}
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

// stop ends the node. Java says 143 of a process that ended at SIGTERM.
func (n *node) stop() error {
	err := n.process.stop()
	if err != nil && n.process.cmd.ProcessState != nil && n.process.cmd.ProcessState.ExitCode() == 143 {
		return nil
	}
	return err
}
