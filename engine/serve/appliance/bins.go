package appliance

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"

	"varve.dev/varve/engine/postprocess"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
)

// manySamples is the number of samples from which the post-processors optimized and ncount use
// stored bins, if there are any.
const manySamples = 1 << 20

// reduced is the result of a post-processor. runs is nil if it was not computed.
type reduced struct {
	runs  iter.Seq2[*sample.Run, error]
	until int64
}

// applyToBins computes optimized and ncount from stored bins, if the range has many
// samples and such bins exist. Otherwise these post-processors work on samples, as all
// others do.
func (h *Handler) applyToBins(ctx context.Context, pv string, op *postprocess.Func, r timeRange, lost *query.Losses) (out reduced, err error) {
	if op.IsCount() {
		n, err := h.Reader.Count(ctx, pv, r.from, r.to, lost)
		if err == nil && n.Stored && n.N >= manySamples {
			out = reduced{counted(r.from, n.N), n.CompleteUntil}
		}
		return out, failed(pv, err)
	}
	points, ok := op.Points()
	if !ok {
		return out, nil
	}
	bins, err := h.Reader.Bins(ctx, pv, r.from, r.to, points, query.BinOptions{Empty: op.Fills(), Lost: lost})
	if err != nil || !bins.Stored {
		return out, failed(pv, err)
	}
	run, n, err := optimized(bins.All)
	if err == nil && n >= max(manySamples, uint64(points)) {
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
// bins, or 0 if not all of them are numbers.
func optimized(bins iter.Seq2[*rollup.Bin, error]) (out *sample.Run, n uint64, err error) {
	out = &sample.Run{Type: sample.Float64.Array()}
	for b, err := range bins {
		if err != nil || b.Kind != rollup.Number || b.Changed {
			return nil, 0, err
		}
		n += b.Count
		value := make([]byte, 0, 40)
		for _, v := range [...]float64{b.Mean, b.Std, b.Min, b.Max, float64(b.Count)} {
			value = binary.LittleEndian.AppendUint64(value, math.Float64bits(v))
		}
		out.Append(&sample.Sample{Time: b.Start + b.Width/2, Tag: sample.MakeTag(b.Severity, 0), Bytes: value})
	}
	return out, n, nil
}
