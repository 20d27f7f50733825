//go:build !linux

package cassandra

import "syscall"

// attributes returns nil: a node outlives a test process that is killed.
func attributes() *syscall.SysProcAttr { return nil }
