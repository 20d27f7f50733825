package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// TestErrorsNameTheWrongFlag checks that each error about a flag names the flag.
func TestErrorsNameTheWrongFlag(t *testing.T) {
	engine := "engine --name a --namespace ns --archiver main"
	retrieval := "retrieval --namespace ns --archiver main --cassandra h"
	for args, want := range map[string]string{
		"engine":                                                                 "--namespace",
		"engine --namespace ns --archiver main":                                  "--name",
		"engine --name a --archiver main":                                        "--namespace",
		"engine --name a --namespace ns":                                         "--archiver",
		"engine --name A_B --namespace ns --archiver main":                       "--name",
		engine + " --shards 0":                                                   "--shards",
		engine + " --memory 1Mi":                                                 "--memory",
		"standalone -f . --memory 1GB":                                           "suffixes are Ki, Mi, Gi and Ti",
		"standalone -f . --data=":                                                "--data: the name of the directory is empty",
		"standalone -f . --cassandra h --data d":                                 "--cassandra and --data cannot be combined",
		engine + " --memory many":                                                "--memory",
		engine + " --flush 1ms":                                                  "--flush",
		engine + " --check-quiet 1s":                                             "--check-quiet",
		engine + " --drain-timeout=-1s":                                          "--drain-timeout",
		engine + " --log-level loud":                                             "--log-level",
		engine:                                                                   "--kubeconfig",
		engine + " --kubeconfig /nowhere":                                        "--kubeconfig",
		"retrieval --namespace ns --archiver main":                               "--cassandra",
		retrieval + " --engine-port 0":                                           "--engine-port",
		"schema":                                                                 "--cassandra",
		"schema --cassandra h --cassandra-keyspace 1":                            "--cassandra",
		"schema --cassandra h --cassandra-credentials /nowhere":                  "--cassandra-credentials",
		"schema --cassandra h --cassandra-tls-dir /nowhere":                      "--cassandra-tls",
		"schema --cassandra h --cassandra-tls-server-name x":                     "--cassandra-tls",
		"schema --cassandra h --replication-factor=-1":                           "--replication-factor",
		"schema --cassandra h --replication-factor=many":                         "--replication-factor",
		"schema --cassandra h --role-credentials /nowhere":                       "--role-credentials",
		"schema --cassandra h --role-credentials testdata/nowhere":               "--role-credentials",
		"schema --cassandra 127.0.0.1:1 --timeout 10ms":                          "127.0.0.1:1",
		"standalone -f . --spool /nowhere --data d":                              "--spool",
		engine + " --cassandra h --spool-size 1Mi":                               "--spool-size",
		"standalone -f . --flush 2h":                                             "--flush",
		"standalone -f . --provider TCP":                                         "--provider",
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

// TestMarksAreReadable checks that a mark shows how many samples are lost and why, or that
// their number is unknown.
func TestMarksAreReadable(t *testing.T) {
	for _, c := range []struct {
		mark apiMark
		want string
	}{
		{apiMark{Kind: "lost", Count: 7, Reason: "overflow"}, "lost 7 samples (overflow)"},
		{apiMark{Kind: "lost", Reason: "ioc_overrun"}, "lost an unknown number of samples (ioc_overrun)"},
		{apiMark{Kind: "type_changed", Text: "float64 to int32"}, "type_changed float64 to int32"},
	} {
		if got := c.mark.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestDiskGuardFlags checks the flags that limit what the disk guard deletes.
func TestDiskGuardFlags(t *testing.T) {
	for _, c := range []struct {
		flags    []string
		keep     time.Duration
		warnOnly bool
		wrong    string
	}{
		{nil, 24 * time.Hour, false, ""},
		{[]string{"--disk-keep=30d", "--disk-warn-only"}, 30 * 24 * time.Hour, true, ""},
		{[]string{"--disk-keep=12h"}, 12 * time.Hour, false, "--disk-keep: 12h is less than 1d"},
	} {
		var o pipelineOptions
		f := pflag.NewFlagSet("varve", pflag.ContinueOnError)
		o.add(f)
		if err := f.Parse(append(c.flags, "--data="+t.TempDir())); err != nil {
			t.Fatal(err)
		}
		err := o.check()
		if o.diskKeep.duration() != c.keep || o.diskWarnOnly != c.warnOnly || (err == nil) != (c.wrong == "") || err != nil && err.Error() != c.wrong {
			t.Errorf("%v: samples of the last %v stay, warn only: %v, error: %v", c.flags, o.diskKeep.duration(), o.diskWarnOnly, err)
		}
	}
}
