package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// varve is the path of the binary. Run sets it before any test runs.
var varve string

// Path returns the path of the binary.
func Path() string { return varve }

// Main builds the program, runs the tests of a package and returns the exit code.
func Main(m *testing.M) int { return Run(m.Run) }

// Run is Main with a function that runs the tests.
func Run(tests func() int) int {
	if varve = os.Getenv("VARVE_BIN"); varve != "" {
		return tests()
	}
	dir, err := os.MkdirTemp("", "varve-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // one scenario runs the program as another user
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	varve = filepath.Join(dir, "varve")
	build := exec.Command("go", "build", "-trimpath", "-o", varve, "varve.dev/varve/cmd/varve")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the image, so both use one build cache
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building varve: %v\n%s", err, out)
		return 1
	}
	return tests()
}
