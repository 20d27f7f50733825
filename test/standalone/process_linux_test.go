package standalone

import "syscall"

// attributes make the kernel end the program when the test process dies, however
// that happens.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
