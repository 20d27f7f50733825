package through

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/upstream"
)

// outside returns what the older archive knows of a PV: see query.Through.
func (a *Archive) outside(ctx context.Context, pv string) (query.Outside, error) {
	if !a.asks(pv) {
		return query.Outside{}, nil
	}
	now := a.cfg.Now()
	if o, found := a.pvs.get(pv, now); found {
		return o, nil
	}
	m, err := a.reads.Describe(withKind(ctx, kindPV), pv, now.UnixNano())
	if errors.Is(err, upstream.ErrUnknownPV) {
		if err = a.forget(ctx, pv); err == nil {
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

// How long the cached knowledge of a PV is used. A PV that becomes known must be found soon.
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
