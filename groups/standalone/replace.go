package standalone

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"varve.dev/varve/api/v1alpha1"
)

// errReadOnly means that a file system cannot be written.
var errReadOnly = syscall.EROFS

// errChanged means that somebody else changed a file meanwhile.
var errChanged = errors.New("somebody else changed it at the same time; repeat the request")

// replaceFile replaces the content of a file at once: after a crash, the file has one content or the other. It keeps the
// permissions of the file. If the file is a link, it replaces the file that the link leads to.
func replaceFile(file string, old, text []byte) (err error) {
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return fmt.Errorf("finding the file: %w", err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("finding the file: %w", err)
	}
	// Somebody who made a file read-only does not want it to be replaced, even if the directory lets us.
	writable, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("opening the file: %w", err)
	}
	if err = writable.Close(); err != nil {
		return fmt.Errorf("closing the file: %w", err)
	}
	// The name is hidden, so that nobody takes the file for a manifest.
	temporary, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*.tmp")
	if err != nil {
		return fmt.Errorf("writing the file: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary.Name()) // the first error counts
		}
	}()
	_, err = temporary.Write(text)
	if err = errors.Join(err, temporary.Chmod(info.Mode().Perm()), temporary.Sync(), temporary.Close()); err != nil {
		return fmt.Errorf("writing the file: %w", err)
	}
	now, err := os.ReadFile(file)
	if err == nil && !bytes.Equal(now, old) {
		err = errChanged
	}
	if err != nil {
		return err
	}
	if err = os.Rename(temporary.Name(), file); err != nil {
		return fmt.Errorf("replacing the file: %w", err)
	}
	return syncDirectory(filepath.Dir(file))
}

// syncDirectory makes the new name of a file durable.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("opening the directory: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("writing the directory: %w", err)
	}
	return nil
}

func compareNames(a, b *v1alpha1.ArchiveGroup) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
