package policies

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"varve.dev/varve/api/v1alpha1"
)

// The file in the state directory of an embedded engine lets a restarted container serve readers while the API server is
// down. It is written under a temporary name, synced, and renamed.
const (
	fileName = "policies"
	maxFile  = 32 << 20 // bytes
)

// saved is the content of the file.
type saved struct {
	Archiver string                   `json:"archiver"`
	Policies []v1alpha1.ArchivePolicy `json:"policies"`
}

// load reads the policies of an Archiver. found is false if there is no file.
func load(dir, archiver string) (list []v1alpha1.ArchivePolicy, found bool, err error) {
	f, err := os.Open(filepath.Join(dir, fileName))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading the saved ArchivePolicies: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, false, fmt.Errorf("reading the saved ArchivePolicies: %w", err)
	}
	list, err = decode(text, archiver)
	return list, err == nil, err
}

// decode returns the policies in the text of a file.
func decode(text []byte, archiver string) ([]v1alpha1.ArchivePolicy, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("the file of saved ArchivePolicies has more than %d bytes", maxFile)
	}
	var s saved
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("decoding the saved ArchivePolicies: %w", err)
	}
	if s.Archiver != archiver {
		return nil, fmt.Errorf("the saved ArchivePolicies are of the Archiver %q", s.Archiver)
	}
	return s.Policies, nil
}

// save replaces the file. If it fails, there is no file, so that no old policies are used later.
func save(dir, archiver string, list []v1alpha1.ArchivePolicy) error {
	text, err := json.Marshal(saved{archiver, list})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	path := filepath.Join(dir, fileName)
	if err := replace(path, text); err != nil {
		return errors.Join(fmt.Errorf("saving the ArchivePolicies: %w", err), ignoreMissing(os.Remove(path)))
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func replace(path string, text []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
