package scan

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// source is samples of one type, sorted by time, that take part in a merge.
type source struct {
	// start is a lower bound of the times, except for carried-forward samples.
	start int64
	// blk is decoded into run when the merge reaches it. It is nil if run is set.
	blk *store.Block
	run *sample.Run
	own bool // run was decoded here, and its memory can be reused
	at  int  // index of the next sample of run
}

func (s *source) time() int64 { return s.run.Times[s.at] }

// decode decodes the block into r, which becomes the run.
func (s *source) decode(r *sample.Run) error {
	r.Reset(sample.Unknown)
	if err := Decode(r, s.blk); err != nil {
		return err
	}
	s.run, s.own, s.blk = r, true, nil
	return nil
}

// sources yields all sources that may overlap the range or hold the last sample before it,
// sorted by start. Unsealed samples are newer than blocks with the same start, and follow
// them. Blocks of all sizes and tiers are read concurrently, ahead of the merge.
func (sc *Scan) sources(ctx context.Context) iter.Seq2[*source, error] {
	return func(yield func(*source, error) bool) {
		seqs := make([]iter.Seq2[*source, error], 0, len(sc.sizes)+1)
		for _, s := range sc.sizes {
			a := readAhead(ctx, func(ctx context.Context) iter.Seq2[*source, error] { return sc.ofSize(ctx, s) })
			defer a.stop()
			seqs = append(seqs, a.all)
		}
		if len(sc.Unsealed) > 0 {
			seqs = append(seqs, sc.ofFresh())
		}
		if len(seqs) == 1 {
			seqs[0](yield)
			return
		}
		byStart(seqs)(yield)
	}
}

// ofSize yields the blocks in the buckets of one size and tier. It reads one bucket after
// another.
func (sc *Scan) ofSize(ctx context.Context, s sized) iter.Seq2[*source, error] {
	return func(yield func(*source, error) bool) {
		for b := range s.upTo(sc.To) {
			if sc.isDeleted(b) {
				continue
			}
			from, to := max(s.since, b.Start()), min(sc.To, b.End()-1)
			for blk, err := range sc.Store.Blocks(ctx, sc.PV, b, from, to) {
				if err != nil {
					yield(nil, err)
					return
				}
				if !yield(&source{start: max(blk.Start, b.Start()), blk: &blk}, nil) {
					return
				}
			}
		}
	}
}

func (sc *Scan) ofFresh() iter.Seq2[*source, error] {
	slices.SortStableFunc(sc.Unsealed, func(a, b *sample.Run) int { return cmp.Compare(a.Times[0], b.Times[0]) })
	return func(yield func(*source, error) bool) {
		for _, r := range sc.Unsealed {
			if !yield(&source{start: r.Times[0], run: r}, nil) {
				return
			}
		}
	}
}

// byStart merges sequences that are sorted by start. If starts are equal, the source of the
// earlier sequence comes first.
func byStart(seqs []iter.Seq2[*source, error]) iter.Seq2[*source, error] {
	return func(yield func(*source, error) bool) {
		var heads []head
		for _, seq := range seqs {
			next, stop := iter.Pull2(seq)
			defer stop()
			if h := (head{next: next}); h.advance() {
				heads = append(heads, h)
			}
		}
		for len(heads) > 0 {
			i := 0
			for k := range heads {
				if heads[k].start() < heads[i].start() {
					i = k
				}
			}
			if h := &heads[i]; !yield(h.source, h.err) || h.err != nil {
				return
			} else if !h.advance() {
				heads = slices.Delete(heads, i, i+1)
			}
		}
	}
}

// head is the first element of a sequence of sources.
type head struct {
	next   func() (*source, error, bool)
	source *source
	err    error
}

func (h *head) advance() (ok bool) {
	h.source, h.err, ok = h.next()
	return ok
}

// start returns the start of the source. An error sorts before all sources.
func (h *head) start() int64 {
	if h.err != nil {
		return math.MinInt64
	}
	return h.source.start
}
