package agent

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/agent/handover"
	"varve.dev/varve/api/v1alpha1"
)

// Bounds of a status, as its schema has them.
const (
	maxEntries = 8
	maxLists   = 64
	maxMessage = 1024
)

// answer is what an engine has to say in the status of an ArchiveShard.
type answer struct {
	// entry of the engine, without the time; no phase: it is to have none.
	entry v1alpha1.ShardEngineStatus
	since metav1.Time
	seals bool
}

// isIn reports whether a status has the answer already.
func (a *answer) isIn(st *v1alpha1.ArchiveShardStatus) bool {
	if a.seals && (st == nil || st.Sealer != a.entry.Name) {
		return false
	}
	e := handover.Entry(st, a.entry.Name)
	if a.entry.Phase == "" || e == nil {
		return a.entry.Phase == "" && e == nil
	}
	return sameEntry(e, &a.entry)
}

// into brings a status to the answer. It touches no entry of other engines, but
// drops the oldest one of an engine that has no order when there is no room.
func (a *answer) into(shard *v1alpha1.ArchiveShard) {
	if shard.Status == nil {
		shard.Status = &v1alpha1.ArchiveShardStatus{}
	}
	st := shard.Status
	if a.seals {
		st.Sealer = a.entry.Name
	}
	i := slices.IndexFunc(st.Engines, func(e v1alpha1.ShardEngineStatus) bool { return e.Name == a.entry.Name })
	entry := *a.entry.DeepCopy()
	entry.Since = a.since.DeepCopy()
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

// sameEntry compares all but the time.
func sameEntry(a, b *v1alpha1.ShardEngineStatus) bool {
	return a.Name == b.Name && a.Phase == b.Phase && a.Message == b.Message && a.WaitingSince.Equal(b.WaitingSince) &&
		slices.Equal(a.Lists, b.Lists) && slices.Equal(a.Deleted, b.Deleted)
}

// makeRoom drops the oldest entry of an engine that the spec does not name, if
// no other fits in.
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

// clip bounds a text to a number of bytes, at the begin of a character.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xC0 == 0x80 {
		limit--
	}
	return text[:limit]
}
