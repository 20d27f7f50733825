package program

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience is the longest wait of a test. It leaves room for a busy machine.
const Patience = 4 * time.Minute

// Process is the running program. It is killed when the test ends.
type Process struct {
	// Out and Log hold the program's output to stdout and stderr.
	Out, Log Output
	// Cmd is the process. Its state is set once Ended is closed.
	Cmd   *exec.Cmd
	Ended chan struct{}

	t *testing.T
}

// Launch runs the program with additional environment variables.
func Launch(t *testing.T, env []string, args ...string) *Process {
	t.Helper()
	return LaunchWith(t, Attributes(), env, args...)
}

// LaunchWith runs the program like Launch, with the given process attributes.
func LaunchWith(t *testing.T, attr *syscall.SysProcAttr, env []string, args ...string) *Process {
	t.Helper()
	return launch(t, varve, attr, env, args)
}

// LaunchOf is Launch with the program in a file, such as that of an older release.
func LaunchOf(t *testing.T, file string, env []string, args ...string) *Process {
	t.Helper()
	return launch(t, file, Attributes(), env, args)
}

// launch runs the program in a file.
func launch(t *testing.T, file string, attr *syscall.SysProcAttr, env, args []string) *Process {
	t.Helper()
	p := &Process{t: t, Cmd: exec.Command(file, args...), Ended: make(chan struct{})}
	p.Cmd.Env = append(os.Environ(), env...)
	p.Cmd.Stdout, p.Cmd.Stderr = &p.Out, &p.Log
	p.Cmd.SysProcAttr = attr
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.Ended)
		_ = p.Cmd.Wait() // Cmd.ProcessState has the exit code
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("varve %s wrote:\n%s%s", strings.Join(args, " "), p.Out.String(), p.Log.Tail())
		}
	})
	return p
}

// Kill ends the program with SIGKILL.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill()
	<-p.Ended
}

// Stop ends the program with SIGTERM. It fails the test unless the exit code is 0.
func (p *Process) Stop() {
	p.t.Helper()
	_ = p.Cmd.Process.Signal(syscall.SIGTERM)
	if code := p.Wait(); code != 0 {
		p.t.Fatalf("varve exits with %d after SIGTERM, want 0:\n%s", code, p.Log.Tail())
	}
}

// Wait waits until the program has ended and returns its exit code.
func (p *Process) Wait() int {
	p.t.Helper()
	select {
	case <-p.Ended:
	case <-time.After(Patience):
		p.t.Fatalf("varve does not exit within %v", Patience)
	}
	return p.Cmd.ProcessState.ExitCode()
}

// GoOn lets the program run for d. It fails the test if the program ends meanwhile.
func (p *Process) GoOn(d time.Duration) {
	p.t.Helper()
	select {
	case <-p.Ended:
		p.t.Fatalf("varve ended: %v", p.Cmd.ProcessState)
	case <-time.After(d):
	}
}

// Eventually waits until is returns true. It fails the test after Patience.
func Eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not true after %v: %s", Patience, what)
		}
	}
}

// Output collects the output of a process. It is safe for concurrent use.
type Output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// String returns everything written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// Tail returns the last 4 KiB of the output.
func (o *Output) Tail() string {
	s := o.String()
	return s[max(0, len(s)-4<<10):]
}
