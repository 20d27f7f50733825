package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImportRefusesWrongFlags checks that each error names the flag, and that nothing is created.
func TestImportRefusesWrongFlags(t *testing.T) {
	dir, empty := t.TempDir(), filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("# nothing\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	data := "import data --from appliance-files " + dir + " --data " + dir + "/archive "
	for args, want := range map[string]string{
		"import data --from channel-files " + dir:                       `--from: "channel-files"`,
		data + "--zone UTC":                                             "for --from rdb, csv and channel-archiver only",
		"import data --from rdb sqlite:///x":                            `"sqlite://"`,
		"import data --from rdb mysql://u@h/d --zone Mars/Olympus":      "--zone",
		"import data --from rdb mysql://u@h/d --password-file /nowhere": "--password-file",
		data + "--shards 0":                                             "--shards",
		data + "--rate -1":                                              "--rate",
		data + "--rate NaN":                                             "--rate",
		data + "--since soon":                                           "--since",
		data + "--since 2025-01-01 --until 2024-01-01":                  "--until",
		data + "--until 1970-01-01T00:00:00Z":                           "--until",
		data + "--dry-run --verify":                                     "--verify",
		data + "--pvs /nowhere":                                         "--pvs",
		data + "--pvs " + empty:                                         "has no names",
		data:                                                            "none of the PVs",
		"import config --from xml " + empty:                             `--from: "xml"`,
		"import config --from list " + empty:                            "no PV that can be archived",
		"import config --from list " + empty + " --prefix (":            "--prefix",
		"import config --from appliance " + empty:                       "reading the configuration of the Archiver Appliance",
		"import config --from list /nowhere":                            "/nowhere",
		"import config --from appliance http://127.0.0.1:1/no/bpl/port": "127.0.0.1:1",
	} {
		cmd := newRoot()
		cmd.SetArgs(strings.Fields(args))
		cmd.SetOut(new(bytes.Buffer))
		cmd.SetErr(new(bytes.Buffer))
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), want) || exitCode(err) != exitFailed {
			t.Errorf("varve %s: %v, want %q and exit code %d", args, err, want, exitFailed)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the commands have left %v, %v", left, err)
	}
}
