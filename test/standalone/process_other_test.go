//go:build !linux

package standalone

import "syscall"

// attributes are none: the program outlives a test process that is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
