package manifest

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFiles limits the files of a directory and its subdirectories.
const maxFiles = 100_000

// Files returns the file of a path, or the files in a directory that Load would read. With recursive, it also returns
// those of subdirectories, except hidden ones. A directory without such files is an error.
func Files(path string, recursive bool) ([]string, error) {
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var names []string
	root := path + string(filepath.Separator) // follows a link to a directory
	err = filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			if name != root && (!recursive || strings.HasPrefix(e.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		case isManifest(e.Name()):
			names = append(names, name)
		}
		if len(names) > maxFiles {
			return fmt.Errorf("%s has more than %d files: name its subdirectories instead", path, maxFiles)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no file *.yaml, *.yml or *.json", path)
	}
	return names, nil
}

// ReadFile returns the content of a file, if the file is not too large.
func ReadFile(name string) ([]byte, error) {
	content, err := readBounded(name)
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	return content, nil
}

// ReadAll returns the content of a file, if it is not too large.
func ReadAll(r io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	if len(content) > maxFileSize {
		return nil, fmt.Errorf("the file is larger than %d MiB", maxFileSize>>20)
	}
	return content, nil
}
