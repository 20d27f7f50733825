package program

import "syscall"

// Attributes returns attributes that make the kernel kill the program when the test process dies,
// for whatever reason.
func Attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
