package main

import (
	"bytes"
	"os"
	"path/filepath"
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

func TestCredentialsAndCertificatesComeFromDirectories(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("username", "archiver\n")
	write("password", "secret\n")
	o := storageOptions{hosts: []string{"h"}, keyspace: "varve", credentials: dir, tls: true, tlsDir: dir, tlsServerName: "cass"}
	cfg, err := o.cassandra(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Username != "archiver" || cfg.Password != "secret" || cfg.TLS.ServerName != "cass" || cfg.TLS.RootCAs != nil || cfg.TLS.InsecureSkipVerify {
		t.Errorf("the configuration is %+v", cfg)
	}
	write("ca.crt", "no certificate")
	if _, err := o.cassandra(nil, nil); err == nil || !strings.Contains(err.Error(), "ca.crt") {
		t.Errorf("a bad authority gives %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "ca.crt")); err != nil {
		t.Fatal(err)
	}
	write("tls.crt", "no certificate")
	write("tls.key", "no key")
	if _, err := o.cassandra(nil, nil); err == nil || !strings.Contains(err.Error(), "--cassandra-tls-dir") {
		t.Errorf("a bad certificate gives %v", err)
	}
}
