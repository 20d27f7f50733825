// Package checkout finds the repository that tests run in.
//
//	working directory ──▶ parent ──▶ … ──▶ the folder with go.mod
//
// It does not use runtime.Caller. Binaries are built with -trimpath, so that checkouts share the
// build cache, and such a binary does not contain the paths of its source files.
package checkout

import (
	"os"
	"path/filepath"
)

// Root returns the folder of the repository: the working directory, or the nearest folder above
// it, that has a go.mod. It panics outside of the repository.
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

// Path returns the absolute path of a file. elements are its path relative to the root of the
// repository.
func Path(elements ...string) string {
	return filepath.Join(append([]string{Root()}, elements...)...)
}
