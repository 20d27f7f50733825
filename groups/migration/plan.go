package migration

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Options say how channels become groups.
type Options struct {
	// Archiver is the name of the Archiver that captures the groups.
	Archiver string
	// Namespace is the namespace of the objects. If it is empty, they have none, and get that of the
	// command that applies them.
	Namespace string
	// Prefix separates the PVs of a policy into groups: by the first capture group of its first match in
	// the name, or by the whole match. It may be nil.
	Prefix *regexp.Regexp
}

// class is what the PVs of a group have in common.
type class struct {
	policy, prefix string
	Settings
}

// Group is the PVs that become one ArchiveGroup.
type Group struct {
	// Name is the name of the ArchiveGroup.
	Name     string
	Settings Settings
	// Lists are the names of the PVs, sorted, by ConfigMap.
	Lists [][]string
	// Aliased are the PVs with aliases, by name. A group has either these or lists.
	Aliased []Channel
}

// Bounds of the lists of a group.
const (
	// listBytes is the size of the names of a list in bytes. kubectl apply writes an object into an
	// annotation of itself, which may have 256 KiB.
	listBytes = 160 << 10
	// maxLists is the number of ConfigMaps that a group can name.
	maxLists = 64
)

// Plan returns the groups of a source, by name.
func Plan(s *Source, opts *Options) ([]Group, error) {
	classes, aliased := map[class][]string{}, map[class][]Channel{}
	for _, c := range s.Channels {
		key := class{c.Policy, prefixOf(c.Name, opts.Prefix), c.Settings}
		if classes[key] = append(classes[key], c.Name); len(c.Aliases) > 0 {
			classes[key] = classes[key][:len(classes[key])-1]
			aliased[key] = append(aliased[key], c)
		}
	}
	var out []Group
	names := map[string]class{}
	for key, pvs := range classes {
		name := key.name(opts.Prefix != nil)
		if other, twice := names[name]; twice {
			return nil, fmt.Errorf("two groups would have the name %s: %+v and %+v; rename a policy", name, other, key)
		}
		names[name] = key
		if len(aliased[key]) > 0 {
			for i, part := range splitAliased(aliased[key]) {
				out = append(out, Group{Name: fmt.Sprintf("%s.aliases-%02d", name, i), Settings: key.Settings, Aliased: part})
			}
			if len(pvs) == 0 {
				continue
			}
		}
		lists := split(pvs)
		for i := 0; i < len(lists); i += maxLists {
			g := Group{Name: name, Settings: key.Settings, Lists: lists[i:min(i+maxLists, len(lists))]}
			if len(lists) > maxLists {
				g.Name = fmt.Sprintf("%s.set-%d", name, i/maxLists)
			}
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// otherPrefix is the prefix of names that do not match.
const otherPrefix = "other"

func prefixOf(name string, re *regexp.Regexp) string {
	if re == nil {
		return ""
	}
	switch m := re.FindStringSubmatch(name); {
	case m == nil:
		return otherPrefix
	case len(m) > 1:
		return cmp.Or(m[1], otherPrefix)
	default:
		return cmp.Or(m[0], otherPrefix)
	}
}

// name returns the name of the group, which depends only on the class. Parts are separated by dots, and
// no part has a dot, so different parts give different names. A hash stands for what a name cannot say.
func (c *class) name(prefixed bool) string {
	policy, exact := slug(cmp.Or(c.policy, "pvs"))
	parts := []string{policy}
	hashed := []string{c.policy}
	if prefixed {
		p, same := slug(c.prefix)
		parts, exact = append(parts, p), exact && same
		hashed = append(hashed, c.prefix)
	}
	if c.Period != "" {
		parts = append(parts, "scan-"+string(c.Period))
	}
	if c.Provider != "" {
		parts = append(parts, strings.ToLower(string(c.Provider)))
	}
	if c.Raw != "" {
		parts = append(parts, "keep-"+string(c.Raw))
	}
	if c.Paused {
		parts = append(parts, "paused")
	}
	if c.Deadband != 0 {
		parts = append(parts, "deadband")
	}
	if c.EnabledBy != "" {
		parts, exact, hashed = append(parts, "enabled"), false, append(hashed, "enabled by "+c.EnabledBy)
	}
	if !exact || c.Deadband != 0 || c.Rollups != "" || c.Properties != "" || c.policy == "" != (policy == "pvs") {
		hashed = append(hashed, fmt.Sprint(c.Deadband), c.Rollups, c.Properties)
		parts = append(parts, fmt.Sprintf("%08x", uint32(xxhash.Sum64String(strings.Join(hashed, "\x00")))))
	}
	return strings.Join(parts, ".")
}

// slug returns a text as a part of the name of an object. exact is false if a text that differs by more
// than case could give the same part.
func slug(text string) (part string, exact bool) {
	const longest = 40
	var b strings.Builder
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-':
			b.WriteRune(r)
		case r >= 'A' && r <= 'Z':
			b.WriteRune(r + 'a' - 'A')
		default:
			b.WriteByte('-')
		}
	}
	part = b.String()
	part = strings.Trim(part[:min(len(part), longest)], "-")
	return cmp.Or(part, "x"), strings.EqualFold(part, text)
}

// split distributes names to lists by their hash, so that a new name changes one list. The number of
// lists is a power of two, and changes only when the names have become twice as many, or half.
func split(pvs []string) [][]string {
	bytes := 0
	for _, pv := range pvs {
		bytes += len(pv) + 1
	}
	n := 1
	for bytes/n > listBytes {
		n *= 2
	}
	lists := make([][]string, n)
	for _, pv := range pvs {
		i := xxhash.Sum64String(pv) % uint64(n)
		lists[i] = append(lists[i], pv)
	}
	for _, l := range lists {
		slices.Sort(l)
	}
	return lists
}

// errNoChannels means that a source has nothing to archive.
var errNoChannels = errors.New("the source has no PV that can be archived")

// File is a manifest.
type File struct {
	Name string
	Text []byte
}

// Marker begins each file that Files makes.
const Marker = "# Made by varve import config"

// Files returns the manifests of groups: a file for each group, and one for each of its lists of names.
// kind is the kind of the source.
func Files(groups []Group, kind string, opts *Options) ([]File, error) {
	if len(groups) == 0 {
		return nil, errNoChannels
	}
	files := map[string][]byte{}
	for i := range groups {
		g := &groups[i]
		files[g.Name+".yaml"] = g.manifest(kind, opts)
		for n, names := range g.Lists {
			files[g.listName(n)+".yaml"] = g.list(n, names, kind, opts)
		}
	}
	var out []File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out = append(out, File{name, files[name]})
	}
	return out, nil
}

// listName returns the name of the ConfigMap with a list.
func (g *Group) listName(n int) string { return fmt.Sprintf("%s.names-%02d", g.Name, n) }
