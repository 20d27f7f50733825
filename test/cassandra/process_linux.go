package cassandra

import "syscall"

// ownGroup returns process attributes with which a process gets its own process group, so that
// Ctrl-C does not reach it and Main can end it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
