package standalone

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// refusal is an input with which the program refuses to start.
type refusal struct {
	name string
	spec string   // spec of the group; if empty, a valid one
	env  []string // additional environment variables
	args []string // additional arguments, which override the earlier ones
	want string   // text that the message must contain
}

// TestBadInput checks that the program rejects bad input at the start, with a message that
// names the cause.
func TestBadInput(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []refusal{
		{name: "unknown field", spec: "chanels: []", want: `groups.yaml:4: ArchiveGroup "x": unknown field "spec.chanels"`},
		{
			name: "wrong duration", spec: "channels: [{name: X}], sampling: {mode: Scan, period: 10 s}",
			want: "spec.sampling.period in body should match",
		},
		{
			name: "PV twice in a file", spec: "channels: [{name: X}, {name: X.VAL}]",
			want: `spec.channels[1].name: Duplicate value: "X.VAL": the same PV as "X"`,
		},
		{
			name: "impossible deadband", spec: "channels: [{name: X}], sampling: {deadband: {absolute: -1}}",
			want: "spec.sampling.deadband.absolute in body should be greater than or equal to 0",
		},
		{
			name: "a condition that is none", spec: "channels: [{name: X}], enabledBy: {pv: SR:BEAM, when: '== Open'}",
			want: "when must be a condition such as != 0",
		},
		{
			name: "redundancy", spec: "channels: [{name: X}], redundancy: 3",
			want: "spec.redundancy in body should be less than or equal to 2",
		},
		{name: "no such path", args: []string{"-f", "/no/such/path"}, want: "stat /no/such/path: no such file or directory"},
		{name: "path through a file", args: []string{"-f", filepath.Join(file, "groups")}, want: "stat " + filepath.Join(file, "groups") + ": not a directory"},
		{name: "no path", args: []string{"-f", ""}, want: "--file is required"},
		{name: "port in use", args: []string{"--listen", busy.Addr().String()}, want: "--listen: listen tcp " + busy.Addr().String() + ": bind: address already in use"},
		{name: "wrong address", args: []string{"--listen", "127.0.0.1"}, want: "--listen: listen tcp: address 127.0.0.1: missing port"},
		{name: "all addresses without a choice", args: []string{"--listen", "0.0.0.0:0"}, want: "so you must choose who may read: write a file, and name it with --access."},
		{name: "no access file", args: []string{"--access", "/no/such/file"}, want: "--access: open /no/such/file: no such file or directory"},
		{name: "wrong access file", args: []string{"--access", file}, want: "--access: " + file + ": "},
		{name: "data in a file", args: []string{"--data", file}, want: "--data: opening the archive in " + file + ":"},
		{name: "wrong address list", env: []string{"EPICS_CA_ADDR_LIST=ioc:70000"}, want: `reading EPICS_CA_ADDR_LIST="ioc:70000": the address "ioc:70000" has a wrong port`},
		{name: "wrong switch", env: []string{"EPICS_CA_AUTO_ADDR_LIST=MAYBE"}, want: `reading EPICS_CA_AUTO_ADDR_LIST="MAYBE": it is neither YES nor NO`},
		{name: "wrong array size", env: []string{"EPICS_CA_MAX_ARRAY_BYTES=10k"}, want: `reading EPICS_CA_MAX_ARRAY_BYTES="10k": it is not a number of bytes`},
		{name: "wrong memory", args: []string{"--memory", "much"}, want: `invalid argument "much" for "--memory" flag: not a number of bytes such as 512Mi`},
		{name: "too little memory", args: []string{"--memory", "1Mi"}, want: "--memory: 1Mi is less than 16Mi"},
		{name: "wrong flush", args: []string{"--flush", "1h"}, want: "--flush: 1h0m0s is not between 10ms and 1m"},
		{name: "wrong checkpoint", args: []string{"--checkpoint", "1ms"}, want: "--checkpoint: 1ms is not between 1s and 6h"},
		{name: "wrong log level", args: []string{"--log-level", "loud"}, want: `--log-level: "loud" is not debug, info, warn or error`},
		{name: "wrong log format", args: []string{"--log-format", "xml"}, want: `--log-format: "xml" is not text or json`},
		{name: "unknown flag", args: []string{"--dta", "x"}, want: "unknown flag: --dta"},
	} {
		t.Run(r.name, func(t *testing.T) { r.check(t) })
	}
}

// check runs the program. The program must end with an error message of at most five lines.
func (r *refusal) check(t *testing.T) {
	dir := t.TempDir()
	spec := r.spec
	if spec == "" {
		spec = "channels: [{name: X}]"
	}
	text := "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {name: x}\nspec: {archiverRef: {name: main}, " + spec + "}\n"
	path := filepath.Join(dir, "groups.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"standalone", "-f", path, "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data")}
	env := append([]string{"EPICS_CA_ADDR_LIST=127.0.0.1", "EPICS_CA_AUTO_ADDR_LIST=NO"}, r.env...)
	p := program.Launch(t, env, append(args, r.args...)...)
	code := p.Wait()
	message := p.Log.String()
	if code != 1 || !strings.HasPrefix(message, "varve: ") || !strings.Contains(message, r.want) || strings.Count(message, "\n") > 5 {
		t.Errorf("exit code %d, message:\n%s\nwant: %s", code, message, r.want)
	}
}

// TestDataInUse checks that a second process refuses a data directory that is in use and does
// not disturb the first process.
func TestDataInUse(t *testing.T) {
	p := &fixture{groups: t.TempDir(), IOC: epics.StartIOC(t, `record(ao, "T:SET") { field(PINI, "YES") }`)}
	p.write(t, "set", program.Group("set", "", "T:SET"))
	dir := t.TempDir()
	a := program.Standalone(t, p.ClientEnv(), "-f", p.groups, "--data", dir)
	a.AwaitConnected(1)
	second := program.Launch(t, p.ClientEnv(), "standalone", "-f", p.groups, "--data", dir, "--listen", "127.0.0.1:0")
	want := "--data: opening the archive in " + dir + ": the directory is in use by another"
	if code := second.Wait(); code != 1 || !strings.Contains(second.Log.String(), want) {
		t.Errorf("exit code %d, message:\n%s\nwant: %s", code, second.Log.String(), want)
	}
	a.AwaitConnected(1)
	a.Stop()
}

// TestUnreadableManifests checks that the program refuses to start if it cannot read the
// directory of manifests.
func TestUnreadableManifests(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "groups")
	if err := os.Mkdir(dir, 0); err != nil {
		t.Fatal(err)
	}
	attr := program.Attributes()
	if os.Geteuid() == 0 { // root can read any directory
		attr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	p := program.LaunchWith(t, attr, nil, "standalone", "-f", dir, "--data", t.TempDir(), "--listen", "127.0.0.1:0")
	want := dir + ": permission denied"
	if code := p.Wait(); code != 1 || !strings.Contains(p.Log.String(), want) {
		t.Errorf("exit code %d, message:\n%s\nwant: %s", code, p.Log.String(), want)
	}
}
