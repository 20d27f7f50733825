//go:build !linux

package cassandra

import "syscall"

// ownGroup returns nil: a process stays in the group of the test process.
func ownGroup() *syscall.SysProcAttr { return nil }
