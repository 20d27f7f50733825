package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/mirror"
)

// The state on disk lets a restarted container capture at once:
//
//	DIR/state         "varve-agent-state 1 <SHA-256 of the rest>\n", then JSON: savedState
//	DIR/lists/NAME    channel lists that shards capture, and former ones, named by the hash of their content
//
// The specs in the state name the former lists. An earlier version saved only the captured lists.
//
// Each file is written under a temporary name, synced, and renamed.
const (
	stateFile   = "state"
	listsFolder = "lists"
	stateMagic  = "varve-agent-state 1 "
	maxState    = 32 << 20
	maxListSize = 1 << 20
)

// savedState is an assignment as stored on disk.
type savedState struct {
	Engine   string       `json:"engine"`
	Archiver string       `json:"archiver"`
	Shards   []savedShard `json:"shards"`
}

// savedShard is a shard of the assignment.
type savedShard struct {
	Name string                    `json:"name"`
	Spec v1alpha1.ArchiveShardSpec `json:"spec"`
	// Captured are the names of the captured lists. They differ from the lists of the spec
	// while a list cannot be read.
	Captured []string `json:"captured,omitempty"`
	Seal     bool     `json:"seal,omitempty"`
	Released bool     `json:"released,omitempty"`
}

// stateDirectory is the directory of the state. Only one process uses it.
type stateDirectory struct {
	path             string
	engine, archiver string
}

var errNoState = errors.New("no state")

// load reads the state. It returns errNoState if there is none.
func (d *stateDirectory) load() (savedState, error) {
	text, err := readBounded(filepath.Join(d.path, stateFile), maxState)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return savedState{}, errNoState
	case err != nil:
		return savedState{}, fmt.Errorf("reading the state: %w", err)
	}
	st, err := decodeState(text)
	if err == nil && (st.Engine != d.engine || st.Archiver != d.archiver) {
		return savedState{}, fmt.Errorf("the state belongs to engine %s of Archiver %s", st.Engine, st.Archiver)
	}
	return st, err
}

// encodeState encodes a state.
func encodeState(st *savedState) []byte {
	body, err := json.Marshal(st)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	sum := sha256.Sum256(body)
	return append([]byte(stateMagic+hex.EncodeToString(sum[:])+"\n"), body...)
}

// decodeState decodes a state.
func decodeState(text []byte) (st savedState, err error) {
	head, body, _ := bytes.Cut(text, []byte("\n"))
	sum := sha256.Sum256(body)
	if string(head) != stateMagic+hex.EncodeToString(sum[:]) {
		return st, errors.New("the state is damaged or has another version; the agent starts without it")
	}
	if err := json.Unmarshal(body, &st); err != nil {
		return savedState{}, fmt.Errorf("decoding the state: %w", err)
	}
	return st, nil
}

// list reads the data of a list.
func (d *stateDirectory) list(name string) ([]byte, error) {
	if name == "" || filepath.Base(name) != name {
		return nil, fmt.Errorf("%q is not the name of a list", name)
	}
	data, err := readBounded(filepath.Join(d.path, listsFolder, name), maxListSize)
	if err == nil && !mirror.Named(name, data) {
		err = mirror.ErrNotAsNamed
	}
	return data, err
}

// save replaces the state. It removes lists that the state does not name.
func (d *stateDirectory) save(st *savedState, lists map[string][]byte) error {
	folder := filepath.Join(d.path, listsFolder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("creating the directory of lists: %w", err)
	}
	changed := false
	for name, data := range lists {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Size() == int64(len(data)) {
			continue // the name contains the hash of the content
		}
		if err := replaceFile(path, data); err != nil {
			return fmt.Errorf("writing a list: %w", err)
		}
		changed = true
	}
	if changed {
		if err := syncDirectory(folder); err != nil {
			return fmt.Errorf("writing lists: %w", err)
		}
	}
	if err := replaceFile(filepath.Join(d.path, stateFile), encodeState(st)); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	if err := syncDirectory(d.path); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return removeOthers(folder, lists)
}

// removeOthers removes the lists that are no longer needed.
func removeOthers(folder string, lists map[string][]byte) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("finding old lists: %w", err)
	}
	for _, e := range entries {
		if _, wanted := lists[e.Name()]; !wanted {
			if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
				return fmt.Errorf("removing an old list: %w", err)
			}
		}
	}
	return nil
}

// replaceFile replaces the content of a file atomically. The rename is durable once the
// directory is synced.
func replaceFile(path string, data []byte) error {
	return renameio.WriteFile(path, data, 0o600, renameio.WithTempDir(filepath.Dir(path)))
}

func syncDirectory(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readBounded reads a file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes, more than the limit of %d", path, info.Size(), limit)
	}
	return os.ReadFile(path)
}
