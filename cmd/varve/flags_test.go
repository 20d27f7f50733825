package main

import (
	"bytes"
	"strings"
	"testing"
)

// Every message about a flag names the flag.
func TestWrongFlagsAreNamed(t *testing.T) {
	engine := "engine --name a --namespace ns --archiver main"
	retrieval := "retrieval --namespace ns --archiver main --cassandra h"
	for args, want := range map[string]string{
		"engine":                                                "--namespace",
		"engine --namespace ns --archiver main":                 "--name",
		"engine --name a --archiver main":                       "--namespace",
		"engine --name a --namespace ns":                        "--archiver",
		"engine --name A_B --namespace ns --archiver main":      "--name",
		engine + " --shards 0":                                  "--shards",
		engine + " --memory 1Mi":                                "--memory",
		engine + " --memory many":                               "--memory",
		engine + " --flush 1ms":                                 "--flush",
		engine + " --drain-timeout=-1s":                         "--drain-timeout",
		engine + " --log-level loud":                            "--log-level",
		engine:                                                  "--kubeconfig",
		engine + " --kubeconfig /nowhere":                       "--kubeconfig",
		"retrieval --namespace ns --archiver main":              "--cassandra",
		retrieval + " --engine-port 0":                          "--engine-port",
		"schema":                                                "--cassandra",
		"schema --cassandra h --cassandra-keyspace 1":           "--cassandra",
		"schema --cassandra h --cassandra-credentials /nowhere": "--cassandra-credentials",
		"schema --cassandra h --cassandra-tls-dir /nowhere":     "--cassandra-tls",
		"schema --cassandra h --cassandra-tls-server-name x":    "--cassandra-tls",
		"schema --cassandra 127.0.0.1:1 --timeout 10ms":         "127.0.0.1:1",
		"standalone -f . --flush 2h":                            "--flush",
		"standalone -f . --provider TCP":                        "--provider",
		"standalone -f ../../config/samples --cassandra h --cassandra-tls-dir /": "--cassandra-tls",
	} {
		root := newRoot()
		root.SetArgs(strings.Fields(args))
		root.SetOut(&bytes.Buffer{})
		if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("varve %s: the error is %v; it should name %s", args, err, want)
		}
	}
}
