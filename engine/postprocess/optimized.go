package postprocess

import (
	"fmt"

	"varve.dev/varve/engine/sample"
)

// optimized gives all samples if they are no more than the points asked for, or else a
// summary of bins that are that many, roughly.
type optimized struct {
	out    *output
	points int
	text   string // of the operator

	held    []*sample.Run // all samples so far
	n, size int           // of held
	summary *summary
	binned  bool
}

func newOptimized(o *Operator, out *output, from, to int64) processor {
	return &optimized{out: out, points: int(o.args[0]), text: o.text, summary: summaryOf(o, out, from, to)}
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
		return fmt.Errorf("operator %s holds more than %d MiB: %w", o.text, maxHeld>>20, ErrBound)
	}
	return nil
}

// release gives what was held to the summary.
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
