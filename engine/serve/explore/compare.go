package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/change"
	"varve.dev/varve/engine/query"
)

const (
	// workers is how many PVs of a request are read at a time.
	workers = 4
	// binsPerWindow is about how many bins a window has, and fewestBins how many it has at least
	// where the PV has only wide rollups.
	binsPerWindow = 30
	fewestBins    = 6
)

// compared is a PV whose behaviour changed.
type compared struct {
	PV      string          `json:"pv"`
	Score   float64         `json:"score"`
	Units   string          `json:"units,omitempty"`
	Labels  []string        `json:"labels,omitempty"`
	Text    string          `json:"description,omitempty"`
	Reasons []change.Reason `json:"reasons"`
}

// changesAnswer is the answer of a comparison.
type changesAnswer struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Before string `json:"before"` // start of the window before
	Since  string `json:"since"`  // start of what shows what is normal
	// PVs is how many PVs were to be compared, and Compared how many were. The time was too short for
	// TooLate of them, and Failed could not be read, the first one because of Error.
	PVs      int     `json:"pvs"`
	Compared int     `json:"compared"`
	TooLate  int     `json:"tooLate,omitempty"`
	Failed   int     `json:"failed,omitempty"`
	Error    string  `json:"error,omitempty"`
	Seconds  float64 `json:"seconds"`
	// Changed is how many PVs have a score, and Changes are the first of them, the largest score first.
	Changed int        `json:"changed"`
	Changes []compared `json:"changes"`
}

// compare compares PVs:
//
//	pvs ──▶ workers: bins, gaps ──▶ change.Comparison ──▶ ranking: the first ones ──▶ units, labels
func (h *Handler) compare(ctx context.Context, q *changesQuery, pvs []string) (*changesAnswer, error) {
	begun := h.now()
	short, cancel := context.WithTimeout(ctx, h.compareTime)
	defer cancel()
	r := ranking{limit: q.limit}
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(workers, len(pvs)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(pvs)) && short.Err() == nil; i = next.Add(1) - 1 {
				c, err := h.compareOne(short, q, pvs[i])
				if errors.Is(err, query.ErrUnknownPV) { // it was never connected
					c, err = &compared{PV: pvs[i]}, nil
				}
				if short.Err() == nil {
					r.add(c, pvs[i], err)
				}
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if r.compared == 0 && r.failed > 0 {
		return nil, r.err
	}
	length := q.to - q.from
	out := &changesAnswer{
		From: clock(q.from), To: clock(q.to), Before: clock(q.from - length), Since: clock(q.from - (change.History+1)*length),
		PVs: len(pvs), Compared: r.compared, TooLate: len(pvs) - r.compared - r.failed, Failed: r.failed, Changed: r.changed, Changes: r.first(),
	}
	if r.err != nil {
		out.Error = r.err.Error()
	}
	for i := range out.Changes {
		if err := h.describe(ctx, &out.Changes[i], q.to); err != nil {
			return nil, err
		}
	}
	out.Seconds = h.now().Sub(begun).Seconds()
	return out, nil
}

// compareOne compares the windows of one PV.
func (h *Handler) compareOne(ctx context.Context, q *changesQuery, pv string) (*compared, error) {
	c := change.New(q.from, q.to)
	width, err := h.comparisonWidth(ctx, pv, q.to-q.from)
	if err != nil {
		return nil, err
	}
	var lost query.Losses
	bins, err := h.reader.Bins(ctx, pv, c.Start(), q.to-1, 1, query.BinOptions{First: true, Empty: true, Width: width, Lost: &lost})
	if err != nil {
		return nil, err
	}
	for b, err := range bins.All {
		if err != nil {
			return nil, err
		}
		c.Add(b)
	}
	if c.Quiet() {
		before, after, cause, err := h.gapShares(ctx, q, pv)
		if err != nil {
			return nil, err
		}
		c.SetGap(before, after, cause)
	}
	score, reasons := c.Result()
	return &compared{PV: pv, Score: score, Reasons: reasons}, nil
}

// comparisonWidth returns the width of the bins in ns. If the PV has no rollups of that width, wider
// ones serve too, because samples take longer to read.
func (h *Handler) comparisonWidth(ctx context.Context, pv string, window int64) (int64, error) {
	levels, err := h.reader.Levels(ctx, pv)
	if err != nil {
		return 0, err
	}
	width := gridWidth(0, window, binsPerWindow)
	wider := int64(math.MaxInt64)
	for _, l := range levels {
		switch every := int64(l.Every()); {
		case every <= 0:
		case width%every == 0:
			return width, nil
		case every > width && every <= window/fewestBins:
			wider = min(wider, every)
		}
	}
	if wider < math.MaxInt64 {
		return wider, nil
	}
	return width, nil
}

// gapShares returns the shares of the window before, and of the window, without updates, and the cause.
func (h *Handler) gapShares(ctx context.Context, q *changesQuery, pv string) (before, after float64, cause string, err error) {
	length := q.to - q.from
	g, err := h.gapsOf(ctx, pv, q.from-length, q.to-1, defaultGaps)
	if err != nil {
		return 0, 0, "", err
	}
	longest := int64(0)
	for i := range g.Gaps {
		x := &g.Gaps[i]
		before += float64(overlapping(x, q.from-length, q.from)) / float64(length)
		if n := overlapping(x, q.from, q.to); n > longest {
			longest, cause = n, x.Kind
		}
		after += float64(overlapping(x, q.from, q.to)) / float64(length)
	}
	return before, after, cause, nil
}

// overlapping returns how long a gap lasts in [from, to), in ns.
func overlapping(g *gap, from, to int64) int64 {
	lo, hi := from, to
	if t, err := time.Parse(time.RFC3339Nano, g.From); err == nil {
		lo = max(lo, t.UnixNano())
	}
	if t, err := time.Parse(time.RFC3339Nano, g.To); err == nil {
		hi = min(hi, t.UnixNano())
	}
	return max(0, hi-lo)
}

// describe adds units, labels and the description of a PV.
func (h *Handler) describe(ctx context.Context, c *compared, at int64) error {
	m, found, err := h.reader.Metadata(ctx, c.PV, at)
	if err != nil || !found {
		return err
	}
	out := newMetadata(&m)
	c.Units, c.Labels, c.Text = out.Units, out.Labels, out.Description
	return nil
}

// ranking keeps the PVs with the largest scores.
type ranking struct {
	limit int

	mu                        sync.Mutex
	list                      []compared
	compared, changed, failed int
	err                       error // the first one
}

func (r *ranking) add(c *compared, pv string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		if r.failed++; r.err == nil {
			r.err = fmt.Errorf("reading %.200s: %w", pv, err)
		}
		return
	}
	r.compared++
	if len(c.Reasons) == 0 {
		return
	}
	r.changed++
	if r.list = append(r.list, *c); len(r.list) > 2*r.limit+1000 {
		r.cutLocked()
	}
}

func (r *ranking) cutLocked() {
	slices.SortFunc(r.list, func(a, b compared) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.PV, b.PV)) })
	r.list = r.list[:min(len(r.list), r.limit)]
}

// first returns the PVs with the largest scores, the largest first.
func (r *ranking) first() []compared {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cutLocked()
	return append([]compared{}, r.list...)
}
