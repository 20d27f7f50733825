package seal

import (
	"context"
	"slices"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
)

// Limits of the samples that are encoded and written at once.
const (
	batchHeads = 256      // maximum number of PVs
	batchBytes = 32 << 20 // maximum size of the samples, except for a single larger sample
	batchShare = 8        // the samples have at most this part of the memory limit, as 1/batchShare
	leastBatch = 1 << 20  // lower bound of that part, for small memory limits
)

// batch returns how many bytes of samples the sealer of a shard encodes and writes at once. They
// do not count as memory, so they depend on its limit.
func (s *Shard) batch() int {
	return int(min(batchBytes, max(leastBatch, s.cfg.Memory.Limit()/batchShare)))
}

// sealOwn seals all samples that the shard journal has made durable.
func (s *Shard) sealOwn(ctx context.Context) error {
	if err := s.adoptReleased(ctx); err != nil {
		return err
	}
	to, written := s.shardJournal.Acked(), s.shardJournal.Written()
	refused, err := s.sealHeads(ctx, s.shardJournal.Heads())
	if err != nil {
		return err
	}
	if err := s.adoptReleased(ctx); err != nil { // memory may have become short meanwhile
		return err
	}
	after, _, released := s.shardJournal.Released() // some rows stay so if the store refuses a PV
	s.noteOwnPartly(to, refused, released)
	for _, h := range refused {
		to = min(to, h.SealedBefore())
	}
	if to = max(to, after); released {
		to = after
	}
	s.written.Store(written)
	if err := s.cfg.Store.Seal(ctx, s.shardJournal.Shard, s.shardJournal.Writer(), to); err != nil {
		return err
	}
	s.shardJournal.NoteSealed(to)
	s.positions.noteRaised(s.shardJournal.Writer(), to)
	return nil
}

// sealUrgent seals the durable samples of PVs with large values, so that memory and readers do
// not hold them until the next checkpoint, and those of PVs whose capture has ended, so that the
// directory knows these PVs. Their blocks are not written again: a block of large values is full
// at once, and a PV that is not captured gets no more samples. Blocks of other PVs would be
// written again as they grow.
func (s *Shard) sealUrgent(ctx context.Context) error {
	_, err := s.sealHeads(ctx, slices.DeleteFunc(s.shardJournal.Heads(), func(h *journal.Head) bool { return !h.Urgent() || s.refused.pvs[h.PV] }))
	return err
}

// sealedHead is a head whose samples up to a count are in blocks.
type sealedHead struct {
	*journal.Head
	through uint64
}

// sealHeads seals the samples of heads that are durable now, in batches of bounded size. When all
// blocks are written, it corrects the tiles that lack late samples. It returns the heads of the PVs
// that the store refuses. They keep their samples.
func (s *Shard) sealHeads(ctx context.Context, heads []*journal.Head) (refused []*journal.Head, err error) {
	due := make([]uint64, len(heads))
	for i, h := range heads {
		due[i] = h.Durable()
	}
	var late []sealedHead
	for len(heads) > 0 {
		var parts []part
		var sealed []sealedHead
		for room := s.batch(); len(parts) < min(len(heads), batchHeads) && room > 0; {
			h, r := heads[len(parts)], new(sample.Run)
			through := h.Unsealed(r, room)
			room -= r.Size()
			parts, sealed = append(parts, part{h.PV, r}), append(sealed, sealedHead{h, through})
			if through < due[len(sealed)-1] {
				break
			}
		}
		out, err := s.write(ctx, parts, s.cfg.Expired)
		if err != nil {
			return nil, err
		}
		done := 0 // only the last of these heads can have more samples
		for i, h := range sealed {
			more := h.through < due[i]
			switch {
			case out.refused[h.PV]:
				refused, more = append(refused, h.Head), false
			case !slices.Contains(out.late, h.PV):
				h.Sealed(h.through)
			case more:
				kept, err := s.releaseLate(ctx, []sealedHead{h})
				if err != nil {
					return nil, err
				}
				refused, more = append(refused, kept...), len(kept) == 0
			default:
				late = append(late, h)
			}
			if !more {
				done++
			}
		}
		heads, due = heads[done:], due[done:]
	}
	kept, err := s.releaseLate(ctx, late)
	return append(refused, kept...), err
}

// releaseLate corrects the tiles that lack samples of heads, and then drops the samples from memory.
// It returns the heads of the PVs for which the store refuses that.
func (s *Shard) releaseLate(ctx context.Context, heads []sealedHead) (kept []*journal.Head, err error) {
	var pvs []string
	for _, h := range heads {
		pvs = append(pvs, h.PV)
	}
	refused, err := s.correctNow(ctx, pvs)
	if err != nil {
		return nil, err
	}
	for _, h := range heads {
		if refused[h.PV] {
			kept = append(kept, h.Head)
		} else {
			h.Sealed(h.through)
		}
	}
	return kept, nil
}
