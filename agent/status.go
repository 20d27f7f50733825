package agent

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"varve.dev/varve/agent/handover"
	"varve.dev/varve/api/v1alpha1"
)

// Limits of a status, as in the schema of ArchiveShard.
const (
	maxEntries = 8
	maxLists   = 64
	maxMessage = 1024
)

// statusUpdate is the data that an engine writes into the status of an ArchiveShard.
type statusUpdate struct {
	// entry is the entry of the engine, without the time. If it has no phase, the entry is
	// removed.
	entry v1alpha1.ShardEngineStatus
	since metav1.Time
	seals bool
}

// isAppliedTo reports whether a status already contains the update.
func (u *statusUpdate) isAppliedTo(st *v1alpha1.ArchiveShardStatus) bool {
	if u.seals && (st == nil || st.Sealer != u.entry.Name) {
		return false
	}
	e := handover.Entry(st, u.entry.Name)
	if u.entry.Phase == "" || e == nil {
		return u.entry.Phase == "" && e == nil
	}
	return sameEntry(e, &u.entry)
}

// applyTo updates the status of a shard. It does not change the entries of other engines. If
// there is no room, it drops the oldest entry of an engine without an order.
func (u *statusUpdate) applyTo(shard *v1alpha1.ArchiveShard) {
	if shard.Status == nil {
		shard.Status = &v1alpha1.ArchiveShardStatus{}
	}
	st := shard.Status
	if u.seals {
		st.Sealer = u.entry.Name
	}
	i := slices.IndexFunc(st.Engines, func(e v1alpha1.ShardEngineStatus) bool { return e.Name == u.entry.Name })
	entry := *u.entry.DeepCopy()
	entry.Since = u.since.DeepCopy()
	switch {
	case entry.Phase == "" && i < 0:
	case entry.Phase == "":
		st.Engines = slices.Delete(st.Engines, i, i+1)
	case i < 0:
		st.Engines = append(makeRoom(st.Engines, &shard.Spec), entry)
	default:
		if st.Engines[i].Phase == entry.Phase {
			entry.Since = st.Engines[i].Since
		}
		st.Engines[i] = entry
	}
}

// sameEntry compares two entries, except for the time.
func sameEntry(a, b *v1alpha1.ShardEngineStatus) bool {
	return a.Name == b.Name && a.Phase == b.Phase && ptr.Equal(a.Connected, b.Connected) && a.Message == b.Message && a.WaitingSince.Equal(b.WaitingSince) &&
		slices.Equal(a.Lists, b.Lists) && slices.Equal(a.Deleted, b.Deleted) && slices.EqualFunc(a.Erasures, b.Erasures, sameErasure)
}

func sameErasure(a, b v1alpha1.ShardErasureStatus) bool {
	return a.Name == b.Name && a.State == b.State && a.Since.Equal(b.Since) && a.PVs == b.PVs && a.Removed == b.Removed && a.Message == b.Message
}

// makeRoom drops the oldest entry of an engine that the spec does not name, if there is no
// room for another entry.
func makeRoom(entries []v1alpha1.ShardEngineStatus, spec *v1alpha1.ArchiveShardSpec) []v1alpha1.ShardEngineStatus {
	if len(entries) < maxEntries {
		return entries
	}
	oldest := -1
	for i := range entries {
		if _, named := handover.Order(spec, entries[i].Name); named {
			continue
		}
		if oldest < 0 || entries[i].Since.Before(entries[oldest].Since) {
			oldest = i
		}
	}
	return slices.Delete(entries, max(oldest, 0), max(oldest, 0)+1)
}

// clip cuts a text to at most limit bytes, at the start of a character.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xC0 == 0x80 {
		limit--
	}
	return text[:limit]
}
