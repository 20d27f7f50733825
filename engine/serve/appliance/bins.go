package appliance

import (
	"context"
	"fmt"
	"iter"
	"math"

	"varve.dev/varve/engine/postprocess"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
)

// manySamples is the number of samples from which the post-processors optimized and ncount use
// stored bins, if there are any, although no sample has expired.
const manySamples = 1 << 20

// reduced is the result of a post-processor. runs is nil if it was not computed.
type reduced struct {
	runs  iter.Seq2[*sample.Run, error]
	until int64
}

// apply computes the result of a post-processor from rollups where samples have expired, or where
// there are very many. Otherwise runs is nil, and the post-processor works on samples.
func (h *Handler) apply(ctx context.Context, pv string, op *postprocess.Func, r timeRange, lost *query.Losses) (out reduced, err error) {
	gone, err := h.expiredIn(ctx, pv, r)
	if err != nil {
		return out, failed(pv, err)
	}
	expired := gone.from < gone.to
	if expired {
		if out, err = h.applyToExpired(ctx, pv, op, r, gone, lost); err != nil || out.runs != nil {
			return out, err
		}
	}
	return h.applyToBins(ctx, pv, op, r, expired, lost)
}

// expiredIn returns the part of a range whose samples have expired: not its end, and not what an older archive
// has. The part is empty if from is not before to.
func (h *Handler) expiredIn(ctx context.Context, pv string, r timeRange) (timeRange, error) {
	until, err := h.Reader.ExpiredUntil(ctx, pv)
	if err != nil || until <= r.from {
		return timeRange{}, err
	}
	seam, err := h.Reader.Seam(ctx, pv)
	return timeRange{max(r.from, seam), min(until, r.to+1)}, err
}

// applyToBins computes optimized and ncount from stored bins, if the range has many
// samples or some have expired, and such bins exist.
func (h *Handler) applyToBins(ctx context.Context, pv string, op *postprocess.Func, r timeRange, expired bool, lost *query.Losses) (out reduced, err error) {
	if op.IsCount() {
		n, err := h.Reader.Count(ctx, pv, r.from, r.to, lost)
		if err == nil && n.Stored && (expired || n.N >= manySamples) {
			out = reduced{counted(r.from, n.N), n.CompleteUntil}
		}
		return out, failed(pv, err)
	}
	points, ok := op.Points()
	if !ok {
		return out, nil
	}
	bins, err := h.Reader.Bins(ctx, pv, r.from, r.to, points, query.BinOptions{Empty: op.Fills(), Lost: lost})
	if err != nil || (!bins.Stored || bins.Outside) && !expired {
		return out, failed(pv, err)
	}
	run, n, err := optimized(bins.All, expired)
	if err == nil && (expired && run.Len() > 0 || n >= max(manySamples, uint64(points))) {
		out = reduced{func(yield func(*sample.Run, error) bool) { yield(run, nil) }, bins.CompleteUntil}
	}
	return out, failed(pv, err)
}

func failed(pv string, err error) error {
	if err != nil {
		return fmt.Errorf("reading bins of %s: %w", pv, err)
	}
	return nil
}

func counted(from int64, n uint64) iter.Seq2[*sample.Run, error] {
	r := &sample.Run{Type: sample.Int32}
	if n > math.MaxInt32 {
		r.Type = sample.Int64
	}
	r.Append(&sample.Sample{Time: from, Word: n})
	return func(yield func(*sample.Run, error) bool) { yield(r, nil) }
}

// optimized converts bins to the result of the post-processor optimized: mean, std, min, max
// and count, with the time of the middle of the bin. It returns the number of samples in all
// bins. If not all bins are numbers, it leaves out the others, or returns 0.
func optimized(bins iter.Seq2[*rollup.Bin, error], others bool) (out *sample.Run, n uint64, err error) {
	out = &sample.Run{Type: sample.Float64.Array()}
	for b, err := range bins {
		if err != nil {
			return nil, 0, err
		}
		if b.Kind != rollup.Number || b.Changed {
			if others {
				continue
			}
			return out, 0, nil
		}
		n += b.Count
		appendNumbers(out, b, ofBin["stats"](b))
	}
	return out, n, nil
}
