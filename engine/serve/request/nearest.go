package request

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Nearest collects the names that are most like a name: those that take the fewest changes of
// letters. Case counts least, because the names of PVs often differ only in it.
type Nearest struct {
	name, lower string
	limit, most int
	found       []candidate
	low         []byte // the last name in lower case
	row         []int
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
	most := n.most
	if len(n.found) == n.limit && n.limit > 0 {
		most = min(most, n.found[n.limit-1].changes/2) // a name with more changes has no place
	}
	of := n.changes(name, most)
	if of > most {
		return false
	}
	c := candidate{name: strings.Clone(name), changes: 2 * of} // the name may be a part of a text with all names
	if of == 0 && name != n.name {
		c.changes = 1
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

// changes returns how many bytes must be inserted, removed or replaced to change the name to another one, without regard to
// case. It returns more than most if these are more than most, and then stops early.
func (n *Nearest) changes(name string, most int) int {
	a, b := n.lower, n.toLower(name)
	if short := len(a) - len(b); short > most || -short > most {
		return most + 1
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	n.row = n.row[:0]
	for j := range len(b) + 1 {
		n.row = append(n.row, j)
	}
	row := n.row
	for i := range len(a) {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j := range b {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
			least = min(least, row[j+1])
		}
		if least > most {
			return least
		}
	}
	return row[len(b)]
}

// toLower returns a name in lower case. It is valid until the next call.
func (n *Nearest) toLower(name string) []byte {
	n.low = n.low[:0]
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			n.low = append(n.low[:0], strings.ToLower(name)...)
			break
		}
		n.low = append(n.low, lower(name[i]))
	}
	return n.low
}

// Names returns the names found, the most similar one first.
func (n *Nearest) Names() []string {
	names := make([]string, len(n.found))
	for i, c := range n.found {
		names[i] = c.name
	}
	return names
}
