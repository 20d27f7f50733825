package compile

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/pvname"
)

// Erasure is a deletion of samples that a group requests, and that may begin now. It is permanent: the samples stay deleted
// if the group no longer requests it.
type Erasure struct {
	// Group is namespace/name, and Index the place in its deletions.
	Group string
	Index int
	// PVs are canonical names, sorted.
	PVs []string
	// ByShard has the PVs by the shard that captures them. PVs that no shard captures are in their home shards.
	ByShard map[int][]string
	// From and To are the first and the last time, in ns since 1970.
	From, To int64
	Reason   string
}

// erasing is a deletion of a member while PVs are collected.
type erasing struct {
	Erasure
	of      *Group
	member  int32
	match   *matcher
	count   int             // PVs that must match
	matched int             // PVs that match
	named   map[string]bool // the PVs that the deletion names, and whether this group or no group has them
}

// erasuresOf collects the deletions of the youngest member.
func (c *compiler) erasuresOf(m *member) {
	if m.role != captures {
		return
	}
	m.out.Deletions = make([]Deletion, len(m.spec.Deletions))
	for i := range m.spec.Deletions {
		d := &m.spec.Deletions[i]
		e, err := newErasing(d)
		if err == nil && d.To.After(c.now) {
			c.runAgainAt(d.To.Time)
			err = fmt.Errorf("nothing is deleted before %s (to)", utc(*d.To))
		}
		if err != nil {
			m.out.holdDeletion(i, err.Error())
			continue
		}
		e.Group, e.Index, e.of, e.member = m.name, i, m.out, int32(len(c.members)-1)
		c.erasing = append(c.erasing, e)
	}
}

func newErasing(d *v1alpha1.SampleDeletion) (*erasing, error) {
	if d.To == nil {
		return nil, fmt.Errorf("to is required")
	}
	e := &erasing{Erasure: Erasure{From: math.MinInt64, To: d.To.UnixNano() - 1, Reason: d.Reason}, named: map[string]bool{}}
	if d.From != nil {
		e.From = d.From.UnixNano()
	}
	if e.From > e.To {
		return nil, fmt.Errorf("to must be after from")
	}
	if d.Match == "" {
		for _, name := range d.PVs {
			pv := pvname.Canonical(name)
			if err := pvname.Check(pv); err != nil {
				return nil, fmt.Errorf("%s: %w", pv, err)
			}
			e.named[pv] = true
		}
		return e, nil
	}
	if d.Count == nil {
		return nil, fmt.Errorf("count is required: the number of PVs of the group that match")
	}
	e.count = int(*d.Count)
	var err error
	e.match, err = newMatcher(d.Match)
	return e, err
}

// holdDeletion notes why nothing is deleted for an entry of the group's deletions.
func (g *Group) holdDeletion(index int, why string) {
	g.addProblem("", fmt.Sprintf("deletions[%d]: %s", index, why))
	g.Deletions[index].Waiting = why
}

// noteErasures notes which deletions concern a PV. wants are the requests of all groups for it.
func (c *compiler) noteErasures(wants []want) {
	pv := wants[0].pv
	for _, e := range c.erasing {
		own := slices.ContainsFunc(wants, func(w want) bool { return w.age == e.member })
		if own && e.match.matches(pv) {
			e.matched++
			e.named[pv] = true
		}
		if other := slices.IndexFunc(wants, func(w want) bool { return w.age != e.member }); other >= 0 && e.named[pv] {
			e.named[pv] = false
			e.of.addProblem(pv, fmt.Sprintf("deletions[%d]: the samples stay, because group %s names the PV, too", e.Index, c.members[wants[other].age].name))
		}
	}
}

// endErasures adds the deletions to the result. While names may be missing, it adds none, because another group may
// have the PVs, and a deletion cannot be undone.
func (c *compiler) endErasures() {
	if c.Incomplete {
		c.incomplete = "a manifest cannot be read"
	}
	c.keepFormer()
	for _, e := range c.erasing {
		if c.incomplete != "" {
			e.of.holdDeletion(e.Index, "nothing is deleted until the PVs of all groups are known: "+c.incomplete)
			continue
		}
		if e.match != nil && e.matched != e.count {
			e.of.holdDeletion(e.Index, fmt.Sprintf("nothing is deleted, because %d PVs match, and count says %d", e.matched, e.count))
			continue
		}
		group := c.members[e.member].group
		for pv, free := range e.named {
			switch {
			case free && c.Policies.KeepsData(group, pv):
				e.of.addProblem(pv, fmt.Sprintf("deletions[%d]: the samples stay, because no ArchivePolicy lets this group own the PV", e.Index))
			case free:
				e.PVs = append(e.PVs, pv)
			}
		}
		if len(e.PVs) == 0 {
			e.of.Deletions[e.Index].Waiting = "the group may delete samples of none of the PVs: see the condition Degraded"
			continue
		}
		slices.Sort(e.PVs)
		e.ByShard = c.byShard(e.PVs)
		out := &e.of.Deletions[e.Index]
		out.PVs, out.Hash = len(e.PVs), xxhash.Sum64String(strings.Join(e.PVs, "\n"))
		c.result.Erasures = append(c.result.Erasures, e.Erasure)
	}
}

// byShard groups PVs by the shards that capture them.
func (c *compiler) byShard(pvs []string) map[int][]string {
	out := map[int][]string{}
	for _, pv := range pvs {
		shard, captured := c.erasedIn[pv]
		if !captured {
			shard = pvname.Shard(pv, c.Shards)
		}
		out[shard] = append(out[shard], pv)
	}
	return out
}

// noteShard notes the shard of a PV that a deletion names.
func (c *compiler) noteShard(pv string, shard int) {
	for _, e := range c.erasing {
		if e.named[pv] {
			if c.erasedIn == nil {
				c.erasedIn = map[string]int{}
			}
			c.erasedIn[pv] = shard
			return
		}
	}
}

// keepFormer keeps the samples of former names of PVs that other groups have: they are the PVs' history.
func (c *compiler) keepFormer() {
	if len(c.erasing) == 0 || len(c.named) == 0 {
		return
	}
	later := map[string][]string{}
	for i := range c.named {
		for _, old := range c.named[i].Former {
			later[old] = append(later[old], c.named[i].pv)
		}
	}
	for _, e := range c.erasing {
		for pv, free := range e.named {
			if !free {
				continue
			}
			if now, group, found := c.otherUser(pv, e.member, later); found {
				e.named[pv] = false
				e.of.addProblem(pv, fmt.Sprintf("deletions[%d]: the samples stay, because it is a former name of %s in group %s", e.Index, now, group))
			}
		}
	}
}

// otherUser finds a PV with a former name that a group other than the member names. It also returns this group.
func (c *compiler) otherUser(name string, member int32, later map[string][]string) (pv, group string, found bool) {
	seen := map[string]bool{name: true}
	for rest := later[name]; len(rest) > 0; {
		pv, rest = rest[0], rest[1:]
		if seen[pv] {
			continue
		}
		seen[pv] = true
		at, _ := slices.BinarySearchFunc(c.wants, pv, func(w want, pv string) int { return strings.Compare(w.pv, pv) })
		for ; at < len(c.wants) && c.wants[at].pv == pv; at++ {
			if c.wants[at].age != member {
				return pv, c.members[c.wants[at].age].name, true
			}
		}
		rest = append(slices.Clip(rest), later[pv]...)
	}
	return "", "", false
}

// Range describes the range of a deletion, in words.
func (e *Erasure) Range() string {
	to := time.Unix(0, e.To+1).UTC().Format(time.RFC3339)
	if e.From == math.MinInt64 {
		return "all samples before " + to
	}
	return "samples from " + e.Begin() + " to " + to
}

// Begin returns the beginning of the range as text, or "" if there is none.
func (e *Erasure) Begin() string {
	if e.From == math.MinInt64 {
		return ""
	}
	return time.Unix(0, e.From).UTC().Format(time.RFC3339)
}
