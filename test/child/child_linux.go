package child

import (
	"os/exec"
	"syscall"
)

// dieWithParent lets the kernel kill the command when the thread that starts it ends (prctl(2),
// PR_SET_PDEATHSIG).
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
