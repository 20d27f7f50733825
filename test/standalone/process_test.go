package standalone

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

// patience bounds every wait, with room for a busy machine.
const patience = 60 * time.Second

// process is the program, running. It ends with the test.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	out   output // stdout
	log   output // stderr
	ended chan struct{}
}

// launch runs the program with variables added to the environment.
func launch(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	return launchWith(t, attributes(), env, args...)
}

func launchWith(t *testing.T, attr *syscall.SysProcAttr, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(varve, args...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.log
	p.cmd.SysProcAttr = attr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // its state says how it ended
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("varve %s wrote:\n%s%s", strings.Join(args, " "), p.out.String(), p.log.tail())
		}
	})
	return p
}

// kill ends the program as kill -9 does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// stop ends the program in order, which must succeed.
func (p *process) stop() {
	p.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		p.t.Fatalf("stopped in order, varve exits with %d:\n%s", code, p.log.tail())
	}
}

// wait returns the exit code.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("varve does not end within %v", patience)
	}
	return p.cmd.ProcessState.ExitCode()
}

// goOn lets the program run for a time.
func (p *process) goOn(d time.Duration) {
	p.t.Helper()
	select {
	case <-p.ended:
		p.t.Fatalf("varve ended: %v", p.cmd.ProcessState)
	case <-time.After(d):
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain: %s", patience, what)
		}
	}
}

// output is what a process writes, for several goroutines.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// String returns everything written so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// tail returns the end of it.
func (o *output) tail() string {
	s := o.String()
	return s[max(0, len(s)-4<<10):]
}
