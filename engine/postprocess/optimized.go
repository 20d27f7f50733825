package postprocess

import (
	"fmt"

	"varve.dev/varve/engine/sample"
)

// optimized yields all samples if there are at most as many as the requested points.
// Otherwise it yields a summary of about as many bins.
type optimized struct {
	out    *output
	points int
	text   string // of the post-processor

	held    []*sample.Run // all samples so far
	n, size int           // number and bytes of the held samples
	summary *summary
	binned  bool
}

func newOptimized(f *Func, out *output, from, to int64) processor {
	return &optimized{out: out, points: int(f.args[0]), text: f.text, summary: summaryOf(f, out, from, to)}
}

func (o *optimized) add(r *sample.Run) error {
	if !o.binned && o.n+r.Len() <= o.points {
		return o.hold(r)
	}
	if err := o.release(); err != nil {
		return err
	}
	return o.summary.add(r)
}

func (o *optimized) hold(r *sample.Run) error {
	k := len(o.held) - 1
	if k < 0 || o.held[k].Type != r.Type {
		o.held = append(o.held, &sample.Run{Type: r.Type})
		k++
	}
	o.held[k].AppendRange(r, 0, r.Len())
	o.n, o.size = o.n+r.Len(), o.size+r.Size()
	if o.size > maxHeld {
		return fmt.Errorf("post-processor %s needs more than %d MiB: %w", o.text, maxHeld>>20, ErrBound)
	}
	return nil
}

// release passes the held samples to the summary.
func (o *optimized) release() error {
	o.binned = true
	for _, r := range o.held {
		if err := o.summary.add(r); err != nil {
			return err
		}
	}
	o.held = nil
	return nil
}

func (o *optimized) close() error {
	if o.binned {
		return o.summary.close()
	}
	for _, r := range o.held {
		o.out.copy(r, 0, r.Len())
	}
	return nil
}
