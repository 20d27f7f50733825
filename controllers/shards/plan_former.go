package shards

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// A list that a shard no longer captures stays in its spec as a former list:
//
//	S: leaving A ─▶ S: former A ── formerFor ─▶ S
//	T: A              T: A                      T: A
//
// Samples of PV A may still be in the memory and in the spool of S's engines, and in S's journal.
// Only the former list says so, to each process that needs it:
//   - A retrieval pod queries the engines of S too, and reads the journal of S. A pod that has just
//     started knows no other record of it, because the directory lists S only once a block has been
//     written.
//   - The sealer of S marks the death of a writer that captured A in S, although A is no longer in S.
//
// The list leaves the shard and becomes former in one write, so no moment is without a record.

const (
	// formerFor is how long a former list stays, counted from the time when no engine holds unstored
	// samples of the shard: two checkpoints of an engine. By then all samples of its PVs in the shard's
	// journal are in blocks, and the directory names the shard.
	formerFor = 30 * time.Minute
	// renewFormer is how often the time in a former list is renewed while engines hold unstored
	// samples.
	renewFormer = time.Minute
	// maxFormer is the highest number of former lists of a shard that the API accepts. Lists stay
	// leaving while there is no room for them.
	maxFormer = 64
)

// updateFormer sets the former lists of all shards. It returns the time until the next change, or zero
// if only an event can cause one.
func (in *observed) updateFormer(compiled *compilation, now time.Time) (wait time.Duration) {
	for i := range compiled.shards {
		s, have := &compiled.shards[i], in.shards[i]
		if s.former = nil; have == nil {
			continue
		}
		s.former = formerLists(have, s, now)
		for _, f := range s.former {
			if holdsUnstored(have) {
				wait = shortest(wait, max(renewFormer-now.Sub(f.Needed.Time), time.Second))
			} else {
				wait = shortest(wait, max(formerFor-now.Sub(f.Needed.Time), time.Second))
			}
		}
	}
	return wait
}

// formerLists returns the former lists of a shard, the oldest first, given its present object.
func formerLists(have *v1alpha1.ArchiveShard, s *compiledShard, now time.Time) (former []v1alpha1.FormerChannelList) {
	at := metav1.NewTime(now.Truncate(time.Second))
	captured := s.captured()
	for _, f := range have.Spec.Former {
		if f.Needed == nil {
			f.Needed = &at // someone has edited the shard
		}
		age := now.Sub(f.Needed.Time)
		switch {
		case slices.Contains(captured, f.Name) && !s.kept:
			continue // the PVs are back
		case holdsUnstored(have) && age >= renewFormer:
			f.Needed = &at
		case age >= formerFor:
			continue
		}
		former = append(former, f)
	}
	if s.kept {
		return former
	}
	for _, l := range have.Spec.Lists {
		known := slices.Contains(captured, l.Name) ||
			slices.ContainsFunc(former, func(f v1alpha1.FormerChannelList) bool { return f.Name == l.Name })
		if l.Leaving && len(s.leaving) == 0 && !known {
			former = append(former, v1alpha1.FormerChannelList{Name: l.Name, Left: &at, Needed: &at})
		}
	}
	return former[max(0, len(former)-maxFormer):]
}

// holdsUnstored reports whether an engine holds samples of a shard that the store has not accepted.
func holdsUnstored(s *v1alpha1.ArchiveShard) bool {
	return s.Status != nil && slices.ContainsFunc(s.Status.Engines, func(e v1alpha1.ShardEngineStatus) bool { return e.WaitingSince != nil })
}

// hasRoom reports whether the leaving lists of a shard may become former.
func (in *observed) hasRoom(index int, s *compiledShard) bool {
	have := in.shards[index]
	return have == nil || len(have.Spec.Former)+len(s.leaving) <= maxFormer
}
