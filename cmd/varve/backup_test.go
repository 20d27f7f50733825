package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/varve/engine/store/pebble"
)

// runVarve runs a command, and returns its exit code and its output.
func runVarve(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	root := newRoot()
	var buf bytes.Buffer
	root.SetArgs(args)
	root.SetOut(&buf)
	root.SetErr(&buf)
	if err := root.ExecuteContext(t.Context()); err != nil {
		return exitCode(err), buf.String() + err.Error()
	}
	return 0, buf.String()
}

func TestBackupCommands(t *testing.T) {
	archive, backups := newArchive(t, nil), filepath.Join(t.TempDir(), "backups")
	copied, result := filepath.Join(t.TempDir(), "copy"), filepath.Join(t.TempDir(), "result")
	read := func() (r backupResult) {
		t.Helper()
		data, err := os.ReadFile(result)
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		if err != nil || len(data) > maxResult {
			t.Fatalf("the result of %d bytes: %v: %s", len(data), err, data)
		}
		return r
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"list DIR", 2, "there are no backups of Varve in"},
		{"create DIR --data ARCHIVE --name one --result RESULT", 0, "backup one: 1 PVs, 1 blocks, 0 unsealed journal rows"},
		{"create DIR --data ARCHIVE --name one --result RESULT", 2, "in " + backups + "; give another --name, or --unless-exists"},
		{"create DIR --data ARCHIVE --name one --unless-exists --result RESULT", 0, ""},
		{"create DIR --data ARCHIVE --name two", 0, "of which 0.0 MiB are new"},
		{"create DIR --data NOWHERE --name three --result RESULT", 2, "no archive in"},
		{"create s3://bucket --data ARCHIVE", 2, "mount the storage"},
		{"list DIR", 0, "one: begun"},
		{"list DIR --json", 0, `"name":"two"`},
		{"verify DIR one --deep", 0, "0 problems"},
		{"verify DIR four", 2, "no such backup"},
		{"restore DIR one --data ARCHIVE", 2, "the archive is not empty"},
		{"restore DIR one --data COPY --shards 8", 2, "the number of shards differs"},
		{"restore DIR one --data COPY --result RESULT", 0, "backup one is restored"},
		{"restore DIR one --data COPY", 0, "was restored from backup one before"},
		{"restore DIR two --data COPY", 2, "another backup was restored"},
		{"restore DIR one --data DIR", 2, "is not an archive and has files"},
		{"delete DIR two --keep 1", 2, "either names of backups or --keep"},
		{"delete DIR --keep 0", 2, "at least one backup must be kept"},
		{"delete DIR --keep 1", 0, "1 backups deleted, with 0 packs"},
		{"delete DIR two", 0, "1 backups deleted"},
	} {
		line := strings.NewReplacer("DIR", backups, "ARCHIVE", archive, "COPY", copied, "RESULT", result, "NOWHERE", result+"x").Replace(c.args)
		if code, out := runVarve(t, append([]string{"backup"}, strings.Fields(line)...)...); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("varve backup %s: exit code %d instead of %d: %s", c.args, code, c.code, out)
		}
		switch {
		case strings.Contains(c.args, "--name three") && !strings.Contains(read().Error, "no archive"):
			t.Errorf("the result of the failed command is %+v", read())
		case strings.Contains(c.args, "--unless-exists") && (!read().Already || read().CompleteUntil == nil || read().Rows["block"] != 1):
			t.Errorf("the result is %+v", read())
		}
	}
	if code, out := storeCheck(t, "--data", copied); code != 0 || !strings.Contains(out, "1 PVs, 1 blocks with 1 samples") {
		t.Errorf("varve store check of the restored archive: exit code %d: %s", code, out)
	}
}

func TestBackupOfAnArchiveInUse(t *testing.T) {
	archive := newArchive(t, nil)
	st, err := pebble.Open(archive, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if code, out := runVarve(t, "backup", "create", t.TempDir(), "--data", archive); code != 2 || !strings.Contains(out, "in use") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
