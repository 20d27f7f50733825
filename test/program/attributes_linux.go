package program

import "syscall"

// Attributes make the kernel end the program when the test process dies, however
// that happens.
func Attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
