package nameindex

import (
	"errors"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
)

// errTooLarge is returned for names that do not fit into a list: 16 million of the longest ones.
var errTooLarge = errors.New("the names of all PVs have more than 4 GiB")

// list is names in order, one after the other in one text. So a name takes its bytes and 4 more, and a search for a text can
// pass over many names at a time. A list never changes.
type list struct {
	text string
	ends []uint32 // name i is text[ends[i]:ends[i+1]]

	hash   sync.Once // makes places
	places []uint32  // 1 + the number of a name, or 0, at the hash of the name or soon after it; a power of two of them

	fold  sync.Once // makes lower and ascii
	lower string    // text in lower case, if it is all ASCII
	ascii bool
}

// newList returns a list of names, which it sorts. A name that occurs several times is in the list once.
func newList(names []string) (*list, error) {
	slices.Sort(names)
	names = slices.Compact(names)
	size := 0
	for _, name := range names {
		size += len(name)
	}
	if size > math.MaxUint32 {
		return nil, errTooLarge
	}
	b := builder{ends: make([]uint32, 1, len(names)+1)}
	b.text.Grow(size)
	for _, name := range names {
		b.add(name)
	}
	return b.list(), nil
}

// builder appends names to a new list.
type builder struct {
	text strings.Builder
	ends []uint32
}

func (b *builder) add(name string) {
	b.text.WriteString(name)
	b.ends = append(b.ends, uint32(b.text.Len()))
}

// copy appends the names [from, to) of a list.
func (b *builder) copy(l *list, from, to int) {
	moved := uint32(b.text.Len()) - l.ends[from]
	b.text.WriteString(l.text[l.ends[from]:l.ends[to]])
	for _, end := range l.ends[from+1 : to+1] {
		b.ends = append(b.ends, end+moved) // moved may be negative: uint32 wraps around twice
	}
}

func (b *builder) list() *list { return &list{text: b.text.String(), ends: b.ends} }

func (l *list) len() int { return len(l.ends) - 1 }

func (l *list) at(i int) string { return l.text[l.ends[i]:l.ends[i+1]] }

// find returns where a name is, or where it would be.
func (l *list) find(name string) (at int, is bool) {
	at = sort.Search(l.len(), func(i int) bool { return l.at(i) >= name })
	return at, at < l.len() && l.at(at) == name
}

func (l *list) has(name string) bool {
	_, is := l.find(name)
	return is
}

// finder returns a function like has that is faster for many names. The list then takes up to 16 bytes more for a name.
func (l *list) finder() func(name string) bool {
	l.hash.Do(func() {
		places := make([]uint32, 1<<bits.Len(uint(2*l.len())))
		for i := range l.len() {
			at := l.place(places, l.at(i))
			places[at] = uint32(i) + 1
		}
		l.places = places
	})
	return func(name string) bool { return l.places[l.place(l.places, name)] != 0 }
}

// place returns where a name is in a table of places, or where it would be. The table always has empty places.
func (l *list) place(places []uint32, name string) uint64 {
	mask := uint64(len(places) - 1)
	at := xxhash.Sum64String(name) & mask
	for places[at] != 0 && l.at(int(places[at]-1)) != name {
		at = (at + 1) & mask
	}
	return at
}

// after returns the first name behind all names with a prefix that begins at or after the prefix itself.
func (l *list) after(prefix string) int {
	return sort.Search(l.len(), func(i int) bool { name := l.at(i); return name > prefix && !strings.HasPrefix(name, prefix) })
}

// same reports whether two lists have the same names.
func (l *list) same(o *list) bool { return l.text == o.text && slices.Equal(l.ends, o.ends) }

// with returns a list with some more and without some other names. It sorts both.
func (l *list) with(added, removed []string) (*list, error) {
	slices.Sort(added)
	slices.Sort(removed)
	added = slices.DeleteFunc(slices.Compact(added), l.has)
	size := len(l.text)
	for _, name := range added {
		size += len(name)
	}
	if size > math.MaxUint32 {
		return nil, errTooLarge
	}
	b := builder{ends: make([]uint32, 1, len(l.ends)+len(added))}
	b.text.Grow(size)
	next := 0
	for len(added)+len(removed) > 0 {
		if len(removed) == 0 || len(added) > 0 && added[0] < removed[0] {
			at, _ := l.find(added[0])
			b.copy(l, next, at)
			b.add(added[0])
			next, added = at, added[1:]
			continue
		}
		at, is := l.find(removed[0])
		b.copy(l, next, at)
		if next = at; is {
			next++
		}
		for same := removed[0]; len(removed) > 0 && removed[0] == same; {
			removed = removed[1:]
		}
	}
	b.copy(l, next, l.len())
	return b.list(), nil
}

// folded returns the text in lower case. It returns false if the list has other letters than those of ASCII. The first search
// that ignores case makes the text.
func (l *list) folded() (string, bool) {
	l.fold.Do(func() {
		if l.ascii = isASCII(l.text); l.ascii {
			l.lower = lowerASCII(l.text)
		}
	})
	return l.lower, l.ascii
}

// search yields the names of a span that a pattern selects and that sees accepts. It calls sees before Match, so that a
// Match with effects does not learn of other names. It returns false if yield does.
func (l *list) search(p *Pattern, in span, sees, yield func(name string) bool) bool {
	text, want := l.text, p.Contains
	if want == "" && p.ContainsFold != "" {
		if lower, is := l.folded(); is {
			text, want = lower, p.ContainsFold
		}
	}
	for i := in.from; i < in.to; i++ {
		if want != "" {
			hit := strings.Index(text[l.ends[i]:l.ends[in.to]], want)
			if hit < 0 {
				return true
			}
			begin := l.ends[i] + uint32(hit)
			i = l.holding(begin, i)
			if begin+uint32(len(want)) > l.ends[i+1] {
				continue // the text is part of two names; this name has it nowhere else
			}
		}
		name := l.at(i)
		if (sees == nil || sees(name)) && (p.Match == nil || p.Match(name)) && !yield(name) {
			return false
		}
	}
	return true
}

// holding returns the name that has a byte of the text. It is name i or a later one, and often near.
func (l *list) holding(at uint32, i int) int {
	step := 1
	for i+step < len(l.ends) && l.ends[i+step] <= at {
		i += step
		step *= 2
	}
	// the name is in [i, i+step)
	most := min(step, l.len()-i)
	return i + sort.Search(most, func(k int) bool { return l.ends[i+k+1] > at })
}
