package child_test

import (
	"os/exec"
	"runtime"
	"sync"
	"testing"

	"varve.dev/varve/test/child"
)

// TestAChildOutlivesThreads checks that a child goes on when threads of the test process end. A
// thread ends with a goroutine that has locked it.
func TestAChildOutlivesThreads(t *testing.T) {
	cmd := exec.Command("cat") // runs until its input ends
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	ended, err := child.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	var threads sync.WaitGroup
	for range 200 {
		threads.Go(runtime.LockOSThread)
	}
	threads.Wait()
	if err := input.Close(); err != nil {
		t.Error(err)
	}
	<-ended
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the child ended with %d (%v), want 0", code, cmd.ProcessState)
	}
}

// TestAMissingProgram checks that the error of a command that cannot start is returned.
func TestAMissingProgram(t *testing.T) {
	ended, err := child.Start(exec.Command("no-such-program"))
	if err == nil {
		t.Error("a missing program starts")
	}
	<-ended
}
