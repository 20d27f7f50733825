package epics

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"varve.dev/varve/test/checkout"
)

// runTimeout bounds a script, with room for a busy machine.
const runTimeout = 3 * time.Minute

// PythonVariable names an interpreter to use instead of that of hack/venv.sh.
const PythonVariable = "VARVE_EPICS_PYTHON"

// Environments are made once per process: real IOCs and their clients, and clients
// of the Archiver Appliance.
var (
	python  = sync.OnceValues(func() (string, error) { return environment("epics") })
	clients = sync.OnceValues(func() (string, error) { return environment("clients") })
)

// environment returns the interpreter of an environment of hack/venv.sh.
func environment(name string) (string, error) {
	if p := os.Getenv(PythonVariable); p != "" && name == "epics" {
		return p, nil
	}
	cmd := exec.Command(checkout.Path("hack", "venv.sh"), name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1], err
}

// Python returns the path of an interpreter that has the packages of
// hack/venv.sh, installing them if need be.
func Python(tb testing.TB) string {
	tb.Helper()
	path, err := python()
	if err != nil {
		tb.Fatalf("making the EPICS environment: %v", err)
	}
	return path
}

// RunClients runs a Python script that has clients of the Archiver Appliance, and
// returns what it prints.
func RunClients(tb testing.TB, script string, args ...string) []byte {
	tb.Helper()
	path, err := clients()
	if err != nil {
		tb.Fatalf("making the environment of clients: %v", err)
	}
	return run(tb, path, nil, nil, script, args...)
}

// run runs a Python script and returns what it prints. The clients start a CA
// repeater that stays behind and holds their output open: it ends with the script.
func run(tb testing.TB, python string, env []string, input []byte, script string, args ...string) []byte {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), runTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, append([]string{"-u", "-c", script}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = bytes.NewReader(input)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		tb.Fatalf("running a Python script: %v", err)
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the repeater, if there is one
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		tb.Fatalf("running a Python script: %v\n%s%s", err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.Bytes()
}
