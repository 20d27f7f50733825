//go:build !linux

package program

import "syscall"

// Attributes returns empty attributes. The program outlives a test process that is killed.
func Attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
