package cassandra

import "syscall"

// attributes make the kernel end the node when the test process dies, however
// that happens, and keep Ctrl-C from it, so that Main can end it in order.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
