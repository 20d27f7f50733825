package cassandra

import "syscall"

// attributes returns process attributes with which the kernel kills the node when the test
// process dies, for whatever reason. The node gets its own process group, so that Ctrl-C does
// not reach it and Main can end it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
