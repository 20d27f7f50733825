package backup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"varve.dev/varve/engine/store"
)

// Group is a group of packs. A restore restores one group after the other.
type Group string

// Groups, in the order of a restore. Journal rows come last, because they expire in Cassandra.
const (
	Blocks    Group = "blocks"
	Grown     Group = "grown" // blocks that may have grown since they were copied
	Rollups   Group = "rollups"
	History   Group = "history" // marks and metadata
	Directory Group = "directory"
	Guard     Group = "guard" // cutoff and progress of the disk guard
	Claims    Group = "claims"
	Journal   Group = "journal"
)

var groups = []Group{Blocks, Grown, Rollups, History, Directory, Guard, Claims, Journal}

// Pack is the entry of a pack in a manifest.
type Pack struct {
	// SHA256 is the hash of the pack, as 64 hexadecimal digits.
	SHA256 string `json:"sha256"`
	Group  Group  `json:"group"`
	Bytes  int64  `json:"bytes"`
	// Rows are the numbers of rows by kind.
	Rows counts `json:"rows"`
}

// object returns the name of the pack in the destination.
func (p *Pack) object() string { return packsPrefix + p.SHA256[:2] + "/" + p.SHA256 + ".pack" }

// Manifest describes a backup.
type Manifest struct {
	Name string `json:"name"`
	// Version is the version of the program that made the backup.
	Version string `json:"version"`
	// Source says where the archive was, for people.
	Source string `json:"source"`
	// FormatLevel is the format level of the archive, and Shards its number of shards.
	FormatLevel store.FormatLevel `json:"formatLevel"`
	Shards      int               `json:"shards"`
	// Begin and End are the times at which the backup began and ended, by the clock of the program that made it.
	// All samples that were acknowledged before Begin are in the backup.
	Begin time.Time `json:"begin"`
	End   time.Time `json:"end"`
	// PVs is the number of PVs in the directory.
	PVs int `json:"pvs"`
	// SliceBits is how many bits of the hash of a name select the slice of a PV.
	SliceBits int `json:"sliceBits"`
	// Tiers are the names of the tiers of blocks and rollups.
	Tiers []string `json:"tiers"`
	// Rows are the numbers of rows by kind, and Bytes is the size of all packs.
	Rows  counts `json:"rows"`
	Bytes int64  `json:"bytes"`
	// Damaged is the number of rows that the archive could not return whole. They are not in the backup. Problems
	// describes some of them.
	Damaged  int64    `json:"damaged,omitempty"`
	Problems []string `json:"problems,omitempty"`
	// Packs are sorted by group and hash.
	Packs []Pack `json:"packs"`

	hash [sha256.Size]byte // of the JSON
}

const (
	manifestsPrefix = "backups/"
	packsPrefix     = "packs/"
	runningPrefix   = "running/"
	// manifestMagic begins the first line of a manifest. The version of the format and the hash of the other lines follow.
	manifestMagic = "varve-backup"
	version       = "1"
	// maxManifest is the maximum size of a manifest. It has room for some millions of packs.
	maxManifest = 1 << 30
)

var (
	// ErrExists means that the destination has a backup of this name.
	ErrExists = errors.New("a backup of this name exists")
	// ErrNoBackup means that the destination has no backup of this name.
	ErrNoBackup = errors.New("no such backup")
	// ErrManifest means that a manifest cannot be used.
	ErrManifest = errors.New("the manifest cannot be used")
)

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// CheckName returns an error unless a name can be the name of a backup.
func CheckName(name string) error {
	if !namePattern.MatchString(name) {
		return fmt.Errorf("%q cannot be the name of a backup: use 1 to 100 letters, digits, '.', '_' and '-', and begin with a letter or digit", name)
	}
	return nil
}

func manifestObject(name string) string { return manifestsPrefix + name + ".manifest" }

// encode returns the bytes of a manifest.
func (m *Manifest) encode() ([]byte, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	m.hash = sha256.Sum256(text)
	return append(fmt.Appendf(nil, "%s %s %x\n", manifestMagic, version, m.hash), text...), nil
}

// decodeManifest decodes and checks a manifest.
func decodeManifest(name string, data []byte) (*Manifest, error) {
	line, text, _ := bytes.Cut(data[:min(len(data), maxManifest)], []byte("\n"))
	fields := strings.Split(string(line[:min(len(line), 200)]), " ")
	if len(fields) != 3 || fields[0] != manifestMagic {
		return nil, fmt.Errorf("%w: %s is not a manifest of a Varve backup", ErrManifest, manifestObject(name))
	}
	if fields[1] != version {
		return nil, fmt.Errorf("%w: backup %s has format version %.20q, and this program knows version %s; use a later release", ErrManifest, name, fields[1], version)
	}
	m := &Manifest{hash: sha256.Sum256(text)}
	if hex.EncodeToString(m.hash[:]) != fields[2] {
		return nil, fmt.Errorf("%w: %s is damaged: its SHA-256 differs from the one in its first line", ErrManifest, manifestObject(name))
	}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrManifest, manifestObject(name), err)
	}
	if err := m.check(name); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrManifest, manifestObject(name), err)
	}
	return m, nil
}

var hashPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (m *Manifest) check(name string) error {
	if m.Name != name {
		return fmt.Errorf("it is the manifest of backup %q", m.Name)
	}
	if m.Shards < 1 || m.Shards > maxShards || m.SliceBits < 0 || m.SliceBits > maxSliceBits || m.FormatLevel < 1 {
		return fmt.Errorf("%d shards, %d slice bits or format level %d are impossible", m.Shards, m.SliceBits, m.FormatLevel)
	}
	for i := range m.Packs {
		p := &m.Packs[i]
		if !hashPattern.MatchString(p.SHA256) || !slices.Contains(groups, p.Group) || p.Bytes < 0 || p.Bytes > maxPack {
			return fmt.Errorf("pack %d is impossible: %+v", i, *p)
		}
	}
	return nil
}

// sortPacks sorts the packs by group and hash, and removes repeated ones.
func (m *Manifest) sortPacks() {
	slices.SortFunc(m.Packs, func(a, b Pack) int {
		return cmp.Or(cmp.Compare(slices.Index(groups, a.Group), slices.Index(groups, b.Group)), cmp.Compare(a.SHA256, b.SHA256))
	})
	m.Packs = slices.CompactFunc(m.Packs, func(a, b Pack) bool { return a.Group == b.Group && a.SHA256 == b.SHA256 })
	m.Rows, m.Bytes = counts{}, 0
	for i := range m.Packs {
		m.Rows.add(m.Packs[i].Rows)
		m.Bytes += m.Packs[i].Bytes
	}
}

// Read reads the manifest of a backup.
func Read(ctx context.Context, d Destination, name string) (*Manifest, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	data, err := d.Get(ctx, manifestObject(name), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s has no backup %s", ErrNoBackup, d, name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the manifest of backup %s: %w", name, err)
	}
	return decodeManifest(name, data)
}

// List returns the manifests of all backups, the oldest first. A manifest that cannot be read is in broken, by the name of its
// backup.
func List(ctx context.Context, d Destination) (all []*Manifest, broken map[string]error, err error) {
	broken = map[string]error{}
	for o, err := range d.List(ctx, manifestsPrefix) {
		if err != nil {
			return nil, nil, fmt.Errorf("listing the backups in %s: %w", d, err)
		}
		name, found := strings.CutSuffix(strings.TrimPrefix(o.Name, manifestsPrefix), ".manifest")
		if !found || CheckName(name) != nil {
			continue
		}
		m, err := Read(ctx, d, name)
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case errors.Is(err, ErrNoBackup): // deleted meanwhile
		case err != nil:
			broken[name] = err
		default:
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b *Manifest) int { return cmp.Or(a.Begin.Compare(b.Begin), cmp.Compare(a.Name, b.Name)) })
	return all, broken, nil
}
