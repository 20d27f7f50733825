package jsonaccess

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
)

// samples answers the samples of a PV in a range.
func (h *Handler) samples(w http.ResponseWriter, r *http.Request) {
	if !checkKey(w, r) {
		return
	}
	pv := r.PathValue("pv")
	q, err := parseQuery(r.URL.RawQuery)
	if err == nil && pv == "" {
		err = errors.New("the path must end in the name of a PV")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	leave, err := h.Reads.Enter(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer leave()
	s, err := h.open(r.Context(), pv, &q)
	if err != nil {
		h.fail(w, r, fmt.Errorf("reading %s: %w", pv, err))
		return
	}
	a := &answer{list: newList(w, q.values), reader: h.Reader, pv: pv, start: q.start, end: q.end, at: query.Earliest - 1, lost: &s.lost}
	defer a.stop()
	a.noteCompleteUntil(s.completeUntil)
	h.finish(w, r, a.list, a.write(r.Context(), s))
}

// source is what an answer is made of.
type source struct {
	runs iter.Seq2[*sample.Run, error]
	// bins replace runs if they are not nil. before is the time of the last sample before them, or
	// the start of the range.
	bins   *query.Bins
	before int64
	after  *sample.Run // the first sample at or after the end; nil if there is none
	// completeUntil is a time in ns since 1970. Samples that were received later may be missing.
	completeUntil int64
	lost          query.Losses
}

// open opens a PV. Samples are read later, except for a few.
func (h *Handler) open(ctx context.Context, pv string, q *samplesQuery) (s *source, err error) {
	s = &source{}
	if s.after, err = h.Reader.FirstFrom(ctx, pv, q.end, &s.lost); err != nil {
		return s, err
	}
	if err = s.read(ctx, h.Reader, pv, q); err != nil || q.count == 0 {
		return s, err
	}
	head, whole, err := beginning(s.runs, q.count)
	switch {
	case err != nil:
	case whole:
		s.runs = replay(head)
	case !head[0].Type.Fixed():
		err = s.read(ctx, h.Reader, pv, q)
	default:
		s.before = min(q.start, head[0].Times[0])
		if s.bins, err = h.Reader.Bins(ctx, pv, q.start, q.end, q.count, query.BinOptions{First: true, Lost: &s.lost}); err == nil {
			s.completeUntil = s.bins.CompleteUntil
		}
	}
	return s, err
}

// read opens the samples of the range.
func (s *source) read(ctx context.Context, reader *query.Reader, pv string, q *samplesQuery) error {
	read, err := reader.Read(ctx, pv, q.start, q.end, query.Options{Lost: &s.lost})
	if err == nil {
		s.runs, s.completeUntil = read.All, read.CompleteUntil
	}
	return err
}

// beginning reads samples until there are more than n. whole is true if these are all samples. It
// ends at the first value that is not Fixed, because such values may be large.
func beginning(runs iter.Seq2[*sample.Run, error], n int) (head []*sample.Run, whole bool, err error) {
	for r, err := range runs {
		if err != nil {
			return nil, false, err
		}
		if !r.Type.Fixed() {
			var one sample.Run
			r.Part(&one, 0, 1)
			return append(head, one.Clone()), false, nil
		}
		head = append(head, r.Clone())
		if n -= r.Len(); n < 0 {
			return head, false, nil
		}
	}
	return head, true, nil
}

func replay(runs []*sample.Run) iter.Seq2[*sample.Run, error] {
	return func(yield func(*sample.Run, error) bool) {
		for _, r := range runs {
			if !yield(r, nil) {
				return
			}
		}
	}
}
