package shards

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/groups/channellist"
	"varve.dev/varve/groups/compile"
)

// A deletion of samples becomes an order for each shard that captures some of its PVs:
//
//	deletions of groups ─▶ compile ─▶ PVs by shard ─▶ ShardErasure in each shard ─▶ sealer
//	                                     └── while another shard may hold samples of a PV: no order
//
// An order stays as long as its group requests the deletion. A new sealer carries it out again, which changes nothing
// if it was done before. No order is given while a PV of the deletion moves between shards, and for as long afterwards as
// its list is a former list of a shard (plan_former.go). The sealer of that shard may write samples that the sealer with the order
// has just removed.

// maxErasures is the highest number of deletions of samples in a shard that the API accepts.
const maxErasures = 64

// deletion is a deletion of samples that a group requests.
type deletion struct {
	group  string
	index  int
	orders map[int]v1alpha1.ShardErasure // by shard
	// moving are the leaving and former lists that have some of the PVs.
	moving []string
	// blocked says why orderDeletions gave no order, or is "".
	blocked string
	// failed means that somebody must act before the deletion can begin.
	failed bool
}

// encodeDeletions turns deletions of samples into orders, and adds the lists of their PVs to data.
func (c *compilation) encodeDeletions(in *observed, erasures []compile.Erasure) {
	of := map[string][]int{} // deletions by PV
	for i := range erasures {
		e := &erasures[i]
		d := deletion{group: e.Group, index: e.Index, orders: map[int]v1alpha1.ShardErasure{}}
		for shard, pvs := range e.ByShard {
			d.orders[shard] = c.shardErasure(in.archiver.Name, e, pvs)
		}
		c.deletions = append(c.deletions, d)
		for _, pv := range e.PVs {
			of[pv] = append(of[pv], i)
		}
	}
	if len(of) > 0 {
		c.findMoving(in, of)
	}
}

// shardErasure returns the order for the PVs of a deletion in one shard.
func (c *compilation) shardErasure(archiver string, e *compile.Erasure, pvs []string) v1alpha1.ShardErasure {
	channels := make([]capture.Channel, len(pvs))
	for i, pv := range pvs {
		channels[i] = capture.Channel{PV: pv, Group: e.Group}
	}
	out := v1alpha1.ShardErasure{Group: e.Group, Reason: e.Reason, To: new(e.To), Lists: c.encode(archiver, channels)}
	if e.From != math.MinInt64 {
		out.From = new(e.From)
	}
	out.Name = channellist.Hash(fmt.Appendf(nil, "%q %q %d %d %q", out.Group, out.Reason, e.From, e.To, out.Lists))
	return out
}

// findMoving finds the lists with PVs that leave a shard, or left it recently. of has the deletions of each PV.
func (c *compilation) findMoving(in *observed, of map[string][]int) {
	for _, name := range c.movingLists(in) {
		data := c.data[name]
		if list := in.lists[name]; data == nil && list != nil {
			data = list.BinaryData[v1alpha1.ChannelListKey]
		}
		channels, err := channellist.Decode(data)
		if err != nil {
			for i := range c.deletions {
				c.deletions[i].moving = append(c.deletions[i].moving, name)
			}
			continue
		}
		for i := range channels {
			for _, at := range of[channels[i].PV] {
				if d := &c.deletions[at]; !slices.Contains(d.moving, name) {
					d.moving = append(d.moving, name)
				}
			}
		}
	}
}

// movingLists returns the names of all leaving and former lists.
func (c *compilation) movingLists(in *observed) (names []string) {
	for i := range c.shards {
		names = append(names, c.shards[i].leaving...)
		if s := in.shards[i]; s != nil {
			for _, f := range s.Spec.Former {
				names = append(names, f.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// deletionLists returns the names of the lists of all deletions of samples.
func (c *compilation) deletionLists() (names []string) {
	for i := range c.deletions {
		for _, order := range c.deletions[i].orders {
			names = append(names, order.Lists...)
		}
	}
	return names
}

// orderDeletions gives the orders of all deletions of samples that need not wait. The leaving and former lists of the shards
// must be up to date.
func (c *compilation) orderDeletions() {
	moving := map[string]bool{}
	for i := range c.shards {
		s := &c.shards[i]
		if !s.kept {
			s.erasures = nil
		}
		for _, name := range s.leaving {
			moving[name] = true
		}
		for _, f := range s.former {
			moving[f.Name] = true
		}
	}
	for i := range c.deletions {
		d := &c.deletions[i]
		if d.blocked, d.failed = c.blocks(d, moving); d.blocked != "" {
			continue
		}
		for index, order := range d.orders {
			c.shards[index].erasures = append(c.shards[index].erasures, order)
		}
	}
}

// blocks returns why a deletion cannot be ordered now, or "". failed means that somebody must act.
func (c *compilation) blocks(d *deletion, moving map[string]bool) (why string, failed bool) {
	if slices.ContainsFunc(d.moving, func(name string) bool { return moving[name] }) {
		return "some of its PVs have moved to other shards; the deletion begins when the samples of their former shards are stored, about half an hour later", false
	}
	for _, index := range slices.Sorted(maps.Keys(d.orders)) {
		order, s := d.orders[index], &c.shards[index]
		switch {
		case s.kept:
			return "the channel lists of a shard cannot be read", false
		case len(order.Lists) > maxLists:
			return "too many of its PVs are in one shard: match fewer PVs in each of several entries", true
		case slices.ContainsFunc(s.erasures, func(o v1alpha1.ShardErasure) bool { return o.Name == order.Name }):
			return "another entry of the group is the same: remove one of them", true
		case len(s.erasures) >= maxErasures:
			return fmt.Sprintf("a shard already has %d deletions: remove entries whose deletion is done from their groups", maxErasures), true
		}
	}
	return "", false
}
