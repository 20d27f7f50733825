package appliance

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
)

// fields are an entry of a report. As in the Appliance, all values are strings.
type fields map[string]string

// report is a list with an entry for some captured PVs. It has the order of the Appliance's report
// of the same name, and PVs of equal rank are sorted by name.
type report struct {
	// rank returns the place of a PV: the higher, the earlier. It returns false if the report
	// leaves out the PV.
	rank  func(s *capture.Status) (float64, bool)
	entry func(s *capture.Status) fields
	// instance adds the identity of the appliance.
	instance bool
}

// answer answers the report.
func (p *report) answer(h *Handler, a args) (any, error) {
	limit, selected, err := selection(a, noLimit)
	if err != nil {
		return nil, err
	}
	top := ranking{limit: limit}
	for s, err := range h.Channels.Statuses(a.r.Context()) {
		if err != nil {
			return nil, incomplete(a.r.Context(), err)
		}
		rank, has := p.rank(&s)
		if !has || !selected.Matches(s.PV) {
			continue
		}
		e := p.entry(&s)
		e["pvName"] = s.PV
		if p.instance {
			e["instance"] = h.Name
		}
		top.add(rank, s.PV, e)
	}
	return top.list(), nil
}

// ranking is the entries of a report. It holds little more than the first ones, up to the limit.
type ranking struct {
	limit   int // negative: none
	entries []ranked
}

type ranked struct {
	rank float64
	pv   string
	json []byte
}

func (r *ranking) add(rank float64, pv string, e fields) {
	b, err := json.Marshal(e)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	r.entries = append(r.entries, ranked{rank, pv, b})
	if r.limit >= 0 && len(r.entries) > 2*r.limit+1024 {
		r.cut()
	}
}

func (r *ranking) cut() {
	slices.SortFunc(r.entries, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.pv, b.pv))
	})
	if r.limit >= 0 && r.limit < len(r.entries) {
		r.entries = r.entries[:r.limit]
	}
}

func (r *ranking) list() list {
	r.cut()
	return func(yield func(any, error) bool) {
		for _, e := range r.entries {
			if !yield(json.RawMessage(e.json), nil) {
				return
			}
		}
	}
}

// ofActive ranks the PVs that are not paused.
func ofActive(rank func(s *capture.Status) float64) func(s *capture.Status) (float64, bool) {
	return func(s *capture.Status) (float64, bool) { return rank(s), !isPaused(s) }
}

var eventRates = report{
	rank:  ofActive(func(s *capture.Status) float64 { return s.Rate }),
	entry: func(s *capture.Status) fields { return fields{"eventRate": number(s.Rate)} },
}

var storageRates = report{
	rank: ofActive((*capture.Status).StorageRate),
	entry: func(s *capture.Status) fields {
		const hour, day = 3600, 24 * 3600
		rate := s.StorageRate()
		return fields{
			"storageRate_KBperHour": number(rate * hour / (1 << 10)), "storageRate_MBperDay": number(rate * day / (1 << 20)),
			"storageRate_GBperYear": number(rate * day * 365 / (1 << 30)),
		}
	},
}

var lostConnections = report{
	rank: ofActive(func(s *capture.Status) float64 { return float64(s.LostConnections) }),
	entry: func(s *capture.Status) fields {
		return fields{"lostConnections": count(s.LostConnections), "currentlyConnected": either(s.State == capture.Connected, "Yes", "No")}
	},
	instance: true,
}

// silent begins with the PVs whose last sample is the oldest.
var silent = report{
	rank:     ofActive(func(s *capture.Status) float64 { return -float64(lastTime(s)) }),
	entry:    func(s *capture.Status) fields { return fields{"lastKnownEvent": clockOrNever(lastTime(s))} },
	instance: true,
}

var paused = report{
	rank:     func(s *capture.Status) (float64, bool) { return 0, isPaused(s) },
	entry:    func(s *capture.Status) fields { return fields{"modificationTime": clockOrNever(s.AbsentSince)} },
	instance: true,
}

var waveforms = report{
	rank: func(s *capture.Status) (float64, bool) { return 0, !isPaused(s) && s.Type.IsArray() },
	entry: func(s *capture.Status) fields {
		scan, period := sampling(s)
		return fields{
			"samplingmethod": either(scan, "SCAN", "MONITOR"), "samplingperiod": period,
			"elementCount": strconv.Itoa(s.Count), "dbrtype": dbrType(s.Type),
		}
	},
}

// dropped returns the report of the PVs with the most samples that were dropped for some reasons.
func dropped(reasons ...sample.Reason) report {
	return report{
		rank: func(s *capture.Status) (float64, bool) {
			n := sum(s, reasons)
			return float64(n), n > 0 && !isPaused(s)
		},
		entry: func(s *capture.Status) fields { return fields{"eventsDropped": count(sum(s, reasons))} },
	}
}

func sum(s *capture.Status, reasons []sample.Reason) (n uint64) {
	for _, r := range reasons {
		n += s.Dropped[r]
	}
	return n
}

// These reports have the reasons for drops that the Appliance has.
var (
	droppedByTime   = dropped(sample.Clock)
	droppedByBuffer = dropped(sample.Overflow, sample.Overrun)
	droppedByType   = dropped(sample.Unsupported, sample.Malformed)
)

// slowChanging has the PVs that lost more samples to wrong times than they have kept.
var slowChanging = report{
	rank: func(s *capture.Status) (float64, bool) {
		n := s.Dropped[sample.Clock]
		return float64(n), n > s.Kept() && !isPaused(s)
	},
	entry: func(s *capture.Status) fields {
		return fields{"eventsDropped": count(s.Dropped[sample.Clock]), "totalEvents": count(s.Kept())}
	},
}

func lastTime(s *capture.Status) int64 {
	if s.HasLast {
		return s.Last.Time
	}
	return 0
}

func count(n uint64) string { return strconv.FormatUint(n, 10) }

// clockOrNever formats a time for people, and 0 as the Appliance does.
func clockOrNever(ns int64) string {
	if ns == 0 {
		return "Never"
	}
	return clock(ns)
}
