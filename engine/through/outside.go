package through

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/upstream"
)

const (
	// describeAtOnce is how many PVs are described at a time. The other slots are for samples and names.
	describeAtOnce = DefaultAtOnce / 4
	// describeTime is how long describing a PV may take.
	describeTime = 30 * time.Second
)

// errSlow means that the older archive has not described a PV in time.
var errSlow = errors.New("the older archive took too long to describe a PV")

// outside returns what the older archive knows of a PV: see query.Through. Requests for the same PV share an answer.
func (a *Archive) outside(ctx context.Context, pv string) (query.Outside, error) {
	if !a.asks(pv) {
		return query.Outside{}, nil
	}
	if o, found := a.pvs.get(pv, a.cfg.Now()); found {
		return o, nil
	}
	get := a.shared.get
	if chainOf(ctx) != "" { // the answer may depend on what the sender wrote in its header
		get = alone
	}
	o, err := get(ctx, pv, a.describe)
	return o, failure(err)
}

// describe asks the older archive for a PV.
func (a *Archive) describe(ctx context.Context, pv string) (query.Outside, error) {
	if err := a.enterDescribing(ctx); err != nil {
		a.note(ctx, err)
		return query.Outside{}, err
	}
	defer func() { <-a.describing }()
	now := a.cfg.Now()
	limited, cancel := context.WithTimeoutCause(ctx, describeTime, fmt.Errorf("%w: more than %v", errSlow, describeTime))
	defer cancel()
	m, err := a.reads.Describe(withKind(limited, kindPV), pv, now.UnixNano())
	if errors.Is(err, upstream.ErrUnknownPV) {
		if err = a.forget(limited, pv); err == nil {
			return query.Outside{}, nil
		}
	}
	if err != nil {
		a.note(ctx, err)
		return query.Outside{}, err
	}
	a.succeeded()
	o := describe(m)
	a.pvs.put(pv, o, now)
	return o, nil
}

// enterDescribing waits until a PV may be described.
func (a *Archive) enterDescribing(ctx context.Context) error {
	wait := time.NewTimer(a.cfg.Wait)
	defer wait.Stop()
	select {
	case a.describing <- struct{}{}:
		return nil
	case <-wait.C:
		return fmt.Errorf("%w: %d PVs are being described, and none of them was within %v", errBusy, describeAtOnce, a.cfg.Wait)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// asks reports whether the older archive can be asked for a PV. An Appliance takes every name with parentheses for a
// post-processor of the PV between them, such as mean_600(X). It would send computed values as if they were
// samples, and values of a PV that the reader may not know.
func (a *Archive) asks(pv string) bool { return a.cfg.JSON || !strings.ContainsAny(pv, "()") }

// describe returns what is known of a PV with metadata, which is nil if the type of the PV is not known.
func describe(m *sample.Metadata) query.Outside {
	if m == nil {
		return query.Outside{Known: true}
	}
	out := query.Outside{Known: true, Type: m.Type, Metadata: m}
	none := math.NaN()
	blank := sample.Metadata{Type: m.Type, Count: m.Count}
	blank.SetLimits([8]float64{none, none, none, none, none, none, none, none})
	if m.Equal(&blank) { // the older archive sent nothing but the type
		out.Metadata = nil
	}
	return out
}
