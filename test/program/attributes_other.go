//go:build !linux

package program

import "syscall"

// Attributes are none: the program outlives a test process that is killed.
func Attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
