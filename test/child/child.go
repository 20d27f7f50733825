// Package child starts programs that end when the test process ends, for whatever reason.
//
//	Start ──▶ goroutine with a thread of its own: start, wait ──▶ ended
package child

import (
	"os/exec"
	"runtime"
)

// Start starts a command. ended is closed when the command has ended; then cmd.ProcessState says
// how. On Linux, the kernel kills the command when the test process ends. The command does not inherit
// what is set for the calling thread alone, such as a network namespace.
func Start(cmd *exec.Cmd) (ended chan struct{}, err error) {
	dieWithParent(cmd)
	ended = make(chan struct{})
	started := make(chan error)
	go func() {
		defer close(ended)
		// The kernel also kills the command when the thread that started it ends. While this
		// goroutine has the thread for itself, no other goroutine can end it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // cmd.ProcessState has the exit code
		}
	}()
	return ended, <-started
}
