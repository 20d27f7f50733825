package request

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest collects the names that are most like a name: those that take the fewest changes of
// letters. Case counts least, because the names of PVs often differ only in it.
type Nearest struct {
	name, lower string
	limit, most int
	found       []candidate
}

type candidate struct {
	name    string
	changes int // each counts twice; one more if case differs
}

// NewNearest returns a collector of up to limit names. It ignores names that differ in more than a
// third of the letters.
func NewNearest(name string, limit int) *Nearest {
	name = name[:min(len(name), maxCompared)]
	return &Nearest{name: name, lower: strings.ToLower(name), limit: limit, most: max(1, len(name)/3)}
}

// Add adds a name if it is near enough. It always returns false, so that Add can be the filter of a
// search that keeps nothing else.
func (n *Nearest) Add(name string) bool {
	if short := len(n.name) - len(name); short > n.most || -short > n.most {
		return false
	}
	c := candidate{name: name, changes: 2 * changes(n.lower, strings.ToLower(name))}
	if c.changes == 0 && name != n.name {
		c.changes = 1
	}
	if c.changes > 2*n.most {
		return false
	}
	at, present := slices.BinarySearchFunc(n.found, c, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.changes, b.changes), cmp.Compare(a.name, b.name))
	})
	if !present && at < n.limit {
		n.found = slices.Insert(n.found, at, c)
		n.found = n.found[:min(len(n.found), n.limit)]
	}
	return false
}

// Names returns the names found, the most similar one first.
func (n *Nearest) Names() []string {
	names := make([]string, len(n.found))
	for i, c := range n.found {
		names[i] = c.name
	}
	return names
}
