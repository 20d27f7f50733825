package routing

import (
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"varve.dev/varve/api/v1alpha1"
)

// formerFor is how long a former list of a shard is remembered: two checkpoints of an engine,
// counted from the time when no engine holds unstored samples of the shard. By then all
// samples of the list's PVs in the shard's journal are in blocks, and the directory names the
// shard. Until then only the former list shows which journal to read.
const formerFor = 30 * time.Minute

// former remembers the former lists of shards. The spec of a shard names only lists whose PVs other shards
// capture now. former also has the lists whose PVs are no longer in any group, because no shard names them.
// It is not safe for concurrent use.
type former struct {
	has map[int][]string             // current lists, by shard
	had map[int]map[string]time.Time // former lists, by shard, and when they became former
}

// observe records the current shards. read reports whether a list has been read; lists that
// have not been read are not remembered.
func (f *former) observe(shards map[string]*v1alpha1.ArchiveShard, read func(name string) bool, now time.Time) {
	has, waits := map[int][]string{}, map[int]bool{}
	for _, obj := range shards {
		if obj.Spec.Index == nil {
			continue
		}
		index := int(*obj.Spec.Index)
		waits[index] = hasWaitingSamples(obj)
		for _, ref := range obj.Spec.Lists {
			has[index] = append(has[index], ref.Name)
			delete(f.had[index], ref.Name)
		}
	}
	for index, pvSet := range f.has {
		for _, name := range pvSet {
			if !slices.Contains(has[index], name) && read(name) {
				f.add(index, name, now)
			}
		}
	}
	f.has = has
	for index, pvSet := range f.had {
		for name, since := range pvSet {
			switch {
			case waits[index]:
				pvSet[name] = now
			case now.Sub(since) >= formerFor:
				delete(pvSet, name)
			}
		}
		if len(pvSet) == 0 {
			delete(f.had, index)
		}
	}
}

// hasWaitingSamples reports whether an engine holds samples of the shard which the store has not accepted.
func hasWaitingSamples(obj *v1alpha1.ArchiveShard) bool {
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

// formerShards returns the shards that recently had a PV, in no particular order.
func (t *table) formerShards(pv string) (shards []int) {
	hash := xxhash.Sum64String(pv)
	has := func(n *pvSet) bool { return n.has(hash) }
	for i := range t.routes {
		if r := &t.routes[i]; r.anyFormer || slices.ContainsFunc(r.former, has) {
			shards = append(shards, r.shard)
		}
	}
	for shard, lists := range t.former {
		if slices.ContainsFunc(lists, has) && !slices.Contains(shards, shard) {
			shards = append(shards, shard)
		}
	}
	return shards
}
