//go:build !linux

package child

import "os/exec"

// dieWithParent does nothing: a command outlives a test process that is killed.
func dieWithParent(*exec.Cmd) {}
