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

// runTimeout is the time limit of a script. It leaves room for a busy machine.
const runTimeout = 3 * time.Minute

// PythonVariable names the environment variable with the path of a Python interpreter to use
// instead of the one that hack/venv.sh installs.
const PythonVariable = "VARVE_EPICS_PYTHON"

// These functions look for an environment once per process, and create it if it is missing. python has
// IOCs and their clients, and clients has the clients of the Archiver Appliance.
var (
	python  = sync.OnceValues(func() (string, error) { return environment("epics") })
	clients = sync.OnceValues(func() (string, error) { return environment("clients") })
)

// environment returns the path of the interpreter of an environment that hack/venv.sh creates.
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

// Python returns the path of an interpreter with the packages that hack/venv.sh installs. It
// installs them first if they are missing.
func Python(tb testing.TB) string {
	tb.Helper()
	path, err := python()
	if err != nil {
		tb.Fatalf("creating the EPICS environment: %v", err)
	}
	return path
}

// RunClients runs a Python script that can import clients of the Archiver Appliance, and
// returns its output.
func RunClients(tb testing.TB, script string, args ...string) []byte {
	tb.Helper()
	path, err := clients()
	if err != nil {
		tb.Fatalf("creating the environment of the Archiver Appliance clients: %v", err)
	}
	return run(tb, path, nil, nil, script, args...)
}

// run runs a Python script and returns its output. Clients start a CA repeater, which keeps
// their output open after they end. run kills the repeater when the script has ended.
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
