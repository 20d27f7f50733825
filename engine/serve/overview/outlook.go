package overview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/growth"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/store"
)

// outlooks is the answer of /api/v1/forecast: how much is kept now and later, in all replicas.
type outlooks struct {
	At string `json:"at"`
	// Days are the times from now for which later has sizes.
	Days    []int     `json:"days"`
	Archive outlook   `json:"archive"`
	Groups  []outlook `json:"groups"`
	// LimitBytes is the size that the archive must not exceed, and Limit says what the limit is. They are absent if there
	// is none. ReachedInDays is absent if the limit is not reached within ten years.
	Limit         string `json:"limit,omitempty"`
	LimitBytes    int64  `json:"limitBytes,omitempty"`
	ReachedInDays *int   `json:"reachedInDays,omitempty"`
	// Unknown says why members are absent or incomplete, by their names.
	Unknown map[string]string `json:"unknown"`
}

// outlook predicts the size of a group, or of the archive.
type outlook struct {
	Group string `json:"group,omitempty"`
	PVs   int    `json:"pvs"`
	// MeasuredPVs is the number of PVs whose blocks were read. The others count as if they were like these.
	MeasuredPVs int `json:"measuredPVs"`
	// MeasuredSeconds is the time from which the rates were computed: the mean of the measured PVs that have samples.
	MeasuredSeconds  float64 `json:"measuredSeconds"`
	SamplesPerSecond float64 `json:"samplesPerSecond"`
	BytesPerSample   float64 `json:"bytesPerSample"`
	BytesPerDay      float64 `json:"bytesPerDay"`
	Bytes            int64   `json:"bytes"`
	// Later has no elements if no PV could be measured.
	Later []int64 `json:"later"`
	// Estimated means that bytes is computed from the rates, because the store does not know the size.
	Estimated bool          `json:"estimated,omitempty"`
	Tiers     []tierOutlook `json:"tiers"`
	// Unknown says what is missing.
	Unknown string `json:"unknown,omitempty"`
}

// tierOutlook predicts the samples or the rollups of a tier.
type tierOutlook struct {
	Contents    string  `json:"contents"`
	Tier        string  `json:"tier,omitempty"`
	BytesPerDay float64 `json:"bytesPerDay"`
	Bytes       int64   `json:"bytes"`
	Later       []int64 `json:"later"`
}

// Bounds of the measurement of all groups.
const (
	maxGroupPVs  = 24   // that are measured of a group
	maxGrowthPVs = 1000 // of all groups
	growthTime   = 20 * time.Second
	// unsealedTime is how long samples may not be in blocks yet.
	unsealedTime = 20 * time.Minute
)

// horizons are the days from now for which a forecast is made.
var horizons = []int{30, 365, 3650}

// maxDays bounds the parameter days.
const maxDays = 36500

// groupGrowth is what a group adds to the archive.
type groupGrowth struct {
	group         string
	pvs, measured int
	timed         int      // measured PVs with samples
	rate, chosen  float64  // kept samples/s now, of all PVs and of the chosen ones
	sample        []choice // the PVs to measure
	spans         time.Duration
	perSecond     float64
	streams       []growth.Stream
	unknown       string
}

// choice is a PV to measure, with its kept samples/s.
type choice struct {
	pv   string
	rate float64
}

// growths is what all groups add.
type growths struct {
	at     time.Time
	groups []*groupGrowth
	// missing says why PVs are missing.
	missing string
}

// forecast answers how large the archive becomes.
func (h *Handler) forecast(w http.ResponseWriter, r *http.Request, q *openapi.Query) {
	ctx := r.Context()
	g, err := h.growths.get(ctx, h.now, censusTime+growthTime, h.measureGrowth)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	st, err := h.stored.get(ctx, h.now, describeTime, h.describe)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	days := slices.Clone(horizons)
	if q.Has("days") {
		days = append(days, q.Int("days"))
		slices.Sort(days)
		days = slices.Compact(days)
	}
	var fleet Fleet
	if h.sources.Engines != nil {
		if fleet, err = h.fleetOf(ctx); err != nil {
			h.fail(w, r, err)
			return
		}
	}
	out, streams := newOutlooks(&g, &st, days)
	if st.missing == "" && len(out.Archive.Later) > 0 {
		limit, is := limitOf(&fleet, &st, newStorage(&st.desc))
		out.setLimit(streams, limit, is)
	}
	answer(w, http.StatusOK, out)
}

// setLimit predicts when the archive reaches its limit. The disk guard then deletes samples.
func (o *outlooks) setLimit(streams []growth.Stream, limit int64, is string) {
	if limit <= 0 {
		return
	}
	o.Limit, o.LimitBytes = is, limit
	for n := range horizon + 1 {
		if growth.At(streams, time.Duration(n)*24*time.Hour) >= float64(limit) {
			o.ReachedInDays = &n
			return
		}
	}
}

// measureGrowth chooses PVs of each group, and measures them in turns, so that each group has some when the time is up.
func (h *Handler) measureGrowth(ctx context.Context) growths {
	out := growths{at: h.now()}
	groups := map[string]*groupGrowth{}
	rng := rand.New(rand.NewPCG(1, 1))
	for s, err := range h.channels.Statuses(ctx) {
		if err != nil {
			out.missing = err.Error()
			continue
		}
		g := groups[s.Group]
		if g == nil {
			g = &groupGrowth{group: s.Group}
			groups[s.Group] = g
		}
		g.choose(&s, rng)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		out.groups = append(out.groups, groups[name])
	}
	each := maxGroupPVs
	if n := len(out.groups); n > 0 {
		each = max(1, min(each, maxGrowthPVs/n))
	}
	bounded, cancel := context.WithTimeout(ctx, growthTime)
	defer cancel()
	for i := range each {
		for _, g := range out.groups {
			if i < len(g.sample) && g.unknown == "" {
				h.measureChoice(bounded, g, &g.sample[i], out.at.UnixNano())
			}
		}
	}
	return out
}

// choose counts a PV, and chooses it for measurement with the same probability as all others of the group.
func (g *groupGrowth) choose(s *capture.Status, rng *rand.Rand) {
	g.pvs++
	c := choice{pv: s.PV}
	if s.Received > 0 {
		c.rate = s.Rate * float64(s.Kept()) / float64(s.Received)
	}
	g.rate += c.rate
	if len(g.sample) < maxGroupPVs {
		g.sample = append(g.sample, c)
	} else if i := rng.IntN(g.pvs); i < maxGroupPVs {
		g.sample[i] = c
	}
}

func (h *Handler) measureChoice(ctx context.Context, g *groupGrowth, c *choice, now int64) {
	m, err := growth.Measure(ctx, h.reader.Store, c.pv, now, unsealedTime)
	switch {
	case err != nil && ctx.Err() != nil:
		g.unknown = "not all PVs could be measured in time"
		return
	case err != nil:
		g.unknown = err.Error()
		return
	}
	if m.Span() == 0 && c.rate > 0 {
		return // a new PV: it counts like the measured ones, not like one without samples
	}
	g.measured++
	g.chosen += c.rate
	if m.Span() > 0 {
		g.timed++
	}
	g.spans += m.Span()
	g.perSecond += m.PerSecond()
	g.streams = append(g.streams, m.Streams...)
}

// factor returns how much more all PVs of the group add than the measured ones: by their present rates, or by their
// number while no samples arrive.
func (g *groupGrowth) factor() float64 {
	switch {
	case g.measured == 0:
		return 0
	case g.measured == g.pvs:
		return 1
	case g.chosen > 0 && g.rate > 0:
		return g.rate / g.chosen
	}
	return float64(g.pvs) / float64(g.measured)
}

// newOutlooks predicts the sizes of all groups and of the archive. It also returns the streams of the archive.
func newOutlooks(g *growths, st *stored, days []int) (*outlooks, []growth.Stream) {
	out := &outlooks{At: clock(g.at.UnixNano()), Days: days, Groups: []outlook{}, Unknown: map[string]string{}}
	if g.missing != "" {
		out.Unknown["groups"] = g.missing
	}
	replicas := float64(max(1, st.desc.Replicas))
	var all []growth.Stream
	whole := groupGrowth{}
	for _, group := range g.groups {
		streams := growth.Scale(growth.Sum(group.streams...), group.factor()*replicas)
		out.Groups = append(out.Groups, newOutlook(group, group.factor(), streams, days))
		all = append(all, streams...)
		whole.pvs, whole.measured = whole.pvs+group.pvs, whole.measured+group.measured
		whole.timed, whole.spans = whole.timed+group.timed, whole.spans+group.spans
		whole.perSecond += group.perSecond * group.factor()
		if why := out.Groups[len(out.Groups)-1].Unknown; whole.unknown == "" && why != "" {
			whole.unknown = fmt.Sprintf("the growth of a group is missing: %s: %s", group.group, why)
		}
	}
	all = growth.Sum(all...)
	estimated := true
	switch {
	case st.missing != "":
		out.Unknown["storage"] = "the sizes are computed from the rates: " + st.missing
	default:
		all, estimated = withStored(all, &st.desc)
	}
	out.Archive = newOutlook(&whole, 1, all, days)
	out.Archive.Estimated = estimated
	return out, all
}

// newOutlook predicts the size of streams, which are those of all PVs of a group. factor scales its rate.
func newOutlook(g *groupGrowth, factor float64, streams []growth.Stream, days []int) outlook {
	o := outlook{
		Group: g.group, PVs: g.pvs, MeasuredPVs: g.measured, SamplesPerSecond: g.perSecond * factor, Estimated: true,
		Later: []int64{}, Tiers: []tierOutlook{}, Unknown: g.unknown,
	}
	if g.timed > 0 {
		o.Later = make([]int64, len(days))
		o.MeasuredSeconds = (g.spans / time.Duration(g.timed)).Seconds()
	} else {
		days = nil // a size of 0 would be wrong
		o.Unknown = cmp.Or(o.Unknown, "no measured PV has samples of at least 10 minutes in blocks; blocks are written every 15 minutes")
	}
	samples := 0.0
	for i := range streams {
		s := &streams[i]
		t := tierOutlook{Later: []int64{}, Contents: string(s.Contents), BytesPerDay: s.PerDay, Bytes: int64(s.Bytes)}
		if s.Contents == store.SampleContents || s.Contents == store.RollupContents {
			t.Tier = s.Tier.String()
		}
		for n, d := range days {
			bytes := int64(s.At(time.Duration(d) * 24 * time.Hour))
			t.Later = append(t.Later, bytes)
			o.Later[n] += bytes
		}
		if s.Contents == store.SampleContents {
			samples += s.PerDay
		}
		o.Bytes += t.Bytes
		o.BytesPerDay += t.BytesPerDay
		o.Tiers = append(o.Tiers, t)
	}
	if o.SamplesPerSecond > 0 {
		o.BytesPerSample = samples / o.SamplesPerSecond / 86400
	}
	return o
}

// withStored replaces the computed sizes by those of the store. It adds what the store holds but no PV adds to. estimated
// is true if the store does not divide its size by tiers.
func withStored(streams []growth.Stream, d *store.Description) (out []growth.Stream, estimated bool) {
	out = slices.Clone(streams)
	for _, p := range d.Parts {
		if (p.Contents == store.SampleContents || p.Contents == store.RollupContents) && !p.Tiered {
			return streams, true
		}
	}
	for i := range out {
		out[i].Bytes = 0
	}
	for _, p := range d.Parts {
		s := growth.Stream{Contents: p.Contents, Tier: p.Tier, Bytes: float64(p.Bytes)}
		if !p.Tiered {
			s.Tier = store.Forever
		}
		s.Age = s.Tier.Keep()
		out = append(out, s)
	}
	return growth.Sum(out...), false
}
