// Package checkout finds the repository that tests run in.
//
//	working directory ──▶ parent ──▶ … ──▶ the folder with go.mod
//
// It does not ask runtime.Caller: binaries built with -trimpath, which share the
// build cache between checkouts, do not know where their source files are.
package checkout

import (
	"os"
	"path/filepath"
)

// Root returns the folder of the repository: the nearest one above the working
// directory that has a go.mod. It panics outside of the repository.
func Root() string {
	dir, err := os.Getwd()
	if err != nil {
		panic("finding the working directory: " + err.Error())
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			panic("no go.mod above the working directory: run this inside the repository")
		}
		dir = parent
	}
}

// Path returns the absolute path of a file of the repository, named from its root.
func Path(elements ...string) string {
	return filepath.Join(append([]string{Root()}, elements...)...)
}
