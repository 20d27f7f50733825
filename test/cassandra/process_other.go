//go:build !linux

package cassandra

import "syscall"

// attributes are none: a node outlives a test process that is killed.
func attributes() *syscall.SysProcAttr { return nil }
