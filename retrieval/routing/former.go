package routing

import (
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"varve.dev/varve/api/v1alpha1"
)

// formerFor is for how long it is known which lists a shard had: two checkpoints of an
// engine, from when none of its samples wait in engines. What the shard journalled of a
// PV that it has no more is in blocks by then, and the directory says so. Before, the
// PV's list alone says in which journal to look.
const formerFor = 30 * time.Minute

// former remembers the lists that shards had. It is not safe for concurrent use.
type former struct {
	has map[int][]string             // lists by shard, as seen last
	had map[int]map[string]time.Time // lists that shards have no more, and since when
}

// see takes shards as they are now. read says whether a list is read: others are not
// worth to be remembered.
func (f *former) see(shards map[string]*v1alpha1.ArchiveShard, read func(name string) bool, now time.Time) {
	has, waits := map[int][]string{}, map[int]bool{}
	for _, obj := range shards {
		if obj.Spec.Index == nil {
			continue
		}
		index := int(*obj.Spec.Index)
		waits[index] = someWait(obj)
		for _, ref := range obj.Spec.Lists {
			has[index] = append(has[index], ref.Name)
			delete(f.had[index], ref.Name)
		}
	}
	for index, names := range f.has {
		for _, name := range names {
			if !slices.Contains(has[index], name) && read(name) {
				f.add(index, name, now)
			}
		}
	}
	f.has = has
	for index, names := range f.had {
		for name, since := range names {
			switch {
			case waits[index]:
				names[name] = now
			case now.Sub(since) >= formerFor:
				delete(names, name)
			}
		}
		if len(names) == 0 {
			delete(f.had, index)
		}
	}
}

// someWait reports whether samples of a shard wait in an engine.
func someWait(obj *v1alpha1.ArchiveShard) bool {
	return obj.Status != nil && slices.ContainsFunc(obj.Status.Engines, func(e v1alpha1.ShardEngineStatus) bool { return e.WaitingSince != nil })
}

func (f *former) add(index int, name string, now time.Time) {
	if f.had == nil {
		f.had = map[int]map[string]time.Time{}
	}
	if f.had[index] == nil {
		f.had[index] = map[string]time.Time{}
	}
	f.had[index][name] = now
}

// formerly returns the shards that had a PV lately, in no particular order.
func (a *atlas) formerly(pv string) (shards []int) {
	hash := xxhash.Sum64String(pv)
	for shard, lists := range a.former {
		if slices.ContainsFunc(lists, func(n *names) bool { return n.has(hash) }) {
			shards = append(shards, shard)
		}
	}
	return shards
}
