package overview

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/store"
)

// Bounds of a request for losses.
const (
	maxLossPVs  = 200_000
	lossTime    = 8 * time.Second
	lossReaders = 16
	lossWorst   = 10
)

// lossReport is what was lost in a range.
type lossReport struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Read is the number of PVs whose marks were read, and PVs the number of those that were selected.
	// Complete is true if all were read. Otherwise the losses are the least that there are: PVs that
	// lost samples since their engine started are read first.
	PVs      int         `json:"pvs"`
	Read     int         `json:"read"`
	Complete bool        `json:"complete"`
	Why      string      `json:"incomplete,omitempty"`
	Causes   []lossCause `json:"causes"`
}

// lossCause sums up the losses of one cause.
type lossCause struct {
	Cause   string `json:"cause"`
	Meaning string `json:"meaning"`
	Advice  string `json:"advice"`
	// Marks is the number of losses. Samples counts what is known to be lost, and Unknown the losses
	// that do not say how many samples they lost.
	Marks   int        `json:"marks"`
	Samples uint64     `json:"samples"`
	Unknown int        `json:"unknown,omitempty"`
	PVs     int        `json:"pvs"`
	First   string     `json:"first"`
	Last    string     `json:"last"`
	Worst   []lossOfPV `json:"worst"`

	first, last int64
	byPV        map[string]*lossOfPV
}

type lossOfPV struct {
	PV      string `json:"pv"`
	Marks   int    `json:"marks"`
	Samples uint64 `json:"samples"`
}

// died is the cause of samples that are lost because a writer ended without closing its claim.
const died = "died"

// meanings says what each cause means, and what to do about it.
var meanings = map[string][2]string{
	sample.Clock.String():       {"The time stamp of the IOC was outside of the limits, and the group refuses such samples.", "Correct the clock of the IOC, or set clockLimit.onExceeded to Restamp."},
	sample.Overflow.String():    {"Memory or the spool was full because the store was unreachable.", "Give engines more memory or a larger spool, and look why the store was away."},
	sample.TooLarge.String():    {"The value is larger than a stored row may be, 16 MiB.", "Archive only some fields of the structure (spec.fields), or a smaller array."},
	sample.Overrun.String():     {"The IOC, or the network, dropped updates before they were sent.", "The IOC posts faster than its network or CPU allows. Lower its rate, or archive with mode Scan."},
	sample.Unsupported.String(): {"Values of this type cannot be archived.", "Select fields of the structure that can be archived (spec.fields)."},
	sample.Malformed.String():   {"The bytes that the IOC sent do not decode.", "Update the IOC. Report the case with the log of the engine if it is up to date."},
	sample.Damaged.String():     {"The stored bytes changed, or parts of them are missing.", "Check the disks, then run `varve store check`."},
	died:                        {"An engine ended without an orderly stop. Samples since its last journal row are lost.", "Use redundancy 2 for PVs that must not lose samples when an engine fails."},
}

// losses answers what was lost in a range, by cause.
func (h *Handler) losses(w http.ResponseWriter, r *http.Request, q *openapi.Query) {
	from, to, err := q.Range()
	if err != nil {
		h.fail(w, r, badRequest{err})
		return
	}
	leave, err := h.reads.Enter(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.Context(), lossTime)
	defer cancel()
	pvs, why, err := h.selectPVs(ctx, q.Get("group"))
	if err != nil {
		h.fail(w, r, err)
		return
	}
	rep, err := h.readLosses(ctx, pvs, from, to)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if rep.Why == "" {
		rep.Why = why
	}
	rep.Complete = rep.Why == ""
	answer(w, http.StatusOK, rep)
}

// selectPVs returns the PVs of a group, or of the archive. Those that lost samples since their engine
// started come first. why says why some may be missing.
func (h *Handler) selectPVs(ctx context.Context, group string) (pvs []string, why string, err error) {
	if group != "" {
		for s, err := range h.channels.Statuses(ctx) {
			if err != nil {
				why = err.Error()
			} else if s.Group == group && len(pvs) < maxLossPVs {
				pvs = append(pvs, s.PV)
			}
		}
		return pvs, why, ctx.Err()
	}
	c, err := h.censusOf(ctx)
	if err != nil {
		return nil, "", err
	}
	all, err := h.reader.Names(ctx, func(string) bool { return true }, maxLossPVs)
	if err != nil {
		return nil, "", err
	}
	if len(all) == maxLossPVs {
		why = "the archive has too many PVs: choose a group"
	}
	pvs = slices.Sorted(maps.Keys(c.losing))
	for _, pv := range all {
		if c.losing[pv] == 0 {
			pvs = append(pvs, pv)
		}
	}
	return pvs, why, nil
}

// readLosses reads the losses of PVs. If ctx ends early by its time, the report is not complete.
func (h *Handler) readLosses(ctx context.Context, pvs []string, from, to int64) (*lossReport, error) {
	rep := &lossReport{From: clock(from), To: clock(to), PVs: len(pvs)}
	causes := map[string]*lossCause{}
	var mu sync.Mutex
	g, reading := errgroup.WithContext(ctx)
	g.SetLimit(lossReaders)
	for _, pv := range pvs {
		if reading.Err() != nil {
			break
		}
		g.Go(func() error {
			found, err := h.lossesOf(reading, pv, from, to)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			rep.Read++
			for i := range found {
				addLoss(causes, pv, &found[i])
			}
			return nil
		})
	}
	err := g.Wait()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		rep.Why = "reading the marks of all PVs takes too long: choose a group or a shorter range"
	case err != nil:
		return nil, err
	}
	rep.Causes = sortedCauses(causes)
	return rep, ctxCanceled(ctx)
}

// ctxCanceled returns an error if the client has left.
func ctxCanceled(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return nil
}

// lossesOf returns the marks of losses of a PV.
func (h *Handler) lossesOf(ctx context.Context, pv string, from, to int64) (found []store.PVMark, err error) {
	for m, err := range h.reader.Store.Marks(ctx, pvname.Canonical(pv), from, to) {
		if err != nil {
			return nil, err
		}
		if m.Kind == sample.Lost || m.Kind == sample.Died {
			found = append(found, m)
		}
	}
	return found, nil
}

// addLoss adds a loss to its cause.
func addLoss(causes map[string]*lossCause, pv string, m *store.PVMark) {
	name := died
	if m.Kind == sample.Lost {
		name = m.Reason.String()
	}
	c := causes[name]
	if c == nil {
		c = &lossCause{Cause: name, Meaning: meanings[name][0], Advice: meanings[name][1], first: m.Time, byPV: map[string]*lossOfPV{}}
		causes[name] = c
	}
	c.first, c.last = min(c.first, m.Time), max(c.last, m.Time, m.End)
	p := c.byPV[pv]
	if p == nil {
		p = &lossOfPV{PV: pv}
		c.byPV[pv] = p
	}
	c.Marks++
	p.Marks++
	if m.Count == 0 {
		c.Unknown++
	}
	c.Samples += m.Count
	p.Samples += m.Count
}

// sortedCauses returns the causes, the one with the most samples first.
func sortedCauses(causes map[string]*lossCause) []lossCause {
	out := []lossCause{}
	for _, c := range causes {
		c.PVs, c.First, c.Last = len(c.byPV), clock(c.first), clock(c.last)
		for _, p := range c.byPV {
			c.Worst = append(c.Worst, *p)
		}
		slices.SortFunc(c.Worst, func(a, b lossOfPV) int {
			return cmp.Or(cmp.Compare(b.Samples, a.Samples), cmp.Compare(b.Marks, a.Marks), cmp.Compare(a.PV, b.PV))
		})
		c.Worst = c.Worst[:min(len(c.Worst), lossWorst)]
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b lossCause) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), cmp.Compare(b.Marks, a.Marks), cmp.Compare(a.Cause, b.Cause))
	})
	return out
}
