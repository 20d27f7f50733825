package through

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"time"

	"varve.dev/varve/engine/pbfile"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/upstream"
)

// outside returns what the older archive knows of a PV: see query.Through.
func (a *Archive) outside(ctx context.Context, pv string) (query.Outside, error) {
	now := a.cfg.Now()
	if o, found := a.pvs.get(pv, now); found {
		return o, nil
	}
	h, err := a.reads.Header(withKind(ctx, kindPV), pv, now.UnixNano())
	if errors.Is(err, upstream.ErrUnknownPV) {
		o, failed := a.forget(ctx, pv)
		if failed != nil {
			a.note(ctx, failed)
		}
		return o, failed
	}
	if err != nil {
		a.note(ctx, err)
		return query.Outside{}, err
	}
	a.succeeded()
	o := describe(h)
	a.pvs.put(pv, o, now)
	return o, nil
}

// describe returns what a header says of a PV. h is nil if the PV has no samples.
func describe(h *pbfile.Header) query.Outside {
	if h == nil {
		return query.Outside{Known: true}
	}
	m := sample.Metadata{Type: h.Type, Count: max(h.Elements, 1)}
	none := math.NaN()
	m.SetLimits([8]float64{none, none, none, none, none, none, none, none})
	for _, f := range h.Fields {
		switch f.Name {
		case "EGU":
			m.Units = f.Value
		case "PREC":
			if n, err := strconv.Atoi(f.Value); err == nil && n >= 0 && n <= maxPrecision {
				m.Precision = n
			}
		}
	}
	return query.Outside{Known: true, Type: h.Type, Metadata: &m}
}

// maxPrecision is the largest number of digits that a record may ask for.
const maxPrecision = 100

// How long the knowledge of a PV counts. A PV that becomes known must be found soon.
const (
	knownFor   = 10 * time.Minute
	unknownFor = time.Minute
	// maxPVs is the number of PVs in the cache.
	maxPVs = 1 << 14
)

// knowledge is a cache of what the older archive knows of PVs. The zero value is ready to use.
type knowledge struct {
	mu  sync.Mutex
	pvs map[string]known
}

type known struct {
	query.Outside
	until time.Time
}

func (k *knowledge) get(pv string, now time.Time) (query.Outside, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, found := k.pvs[pv]
	return o.Outside, found && now.Before(o.until)
}

func (k *knowledge) put(pv string, o query.Outside, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pvs == nil {
		k.pvs = map[string]known{}
	}
	for old := range k.pvs {
		if len(k.pvs) < maxPVs {
			break
		}
		delete(k.pvs, old)
	}
	until := now.Add(unknownFor)
	if o.Known {
		until = now.Add(knownFor)
	}
	k.pvs[pv] = known{o, until}
}
