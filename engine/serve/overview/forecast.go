package overview

import (
	"fmt"
	"math"
	"time"

	"varve.dev/varve/engine/store"
)

// forecast predicts the size of the archive if all PVs continue as now. It counts raw samples, which
// take most of the space, in all replicas.
type forecast struct {
	Tiers []tierForecast `json:"tiers"`
	// PerDay is what all tiers get per day, in bytes.
	PerDay float64 `json:"bytesPerDay"`
	// LimitBytes is the size that the archive must not exceed, and Limit says what the limit is. They
	// are absent if there is none.
	Limit      string `json:"limit,omitempty"`
	LimitBytes int64  `json:"limitBytes,omitempty"`
	// ReachedInDays is when the archive reaches the limit. It is absent if it never does, or not within
	// ten years.
	ReachedInDays *float64 `json:"reachedInDays,omitempty"`
	// Settles is the size at which the archive stops to grow. It is absent if it does not.
	Settles *int64 `json:"settlesAtBytes,omitempty"`
	// PVs is the number of PVs whose blocks were measured.
	PVs int `json:"measuredPVs"`
}

// tierForecast predicts the raw samples of a tier.
type tierForecast struct {
	Tier             string  `json:"tier"`
	Bytes            *int64  `json:"bytes,omitempty"` // now; absent if it is not known
	SamplesPerSecond float64 `json:"samplesPerSecond"`
	BytesPerSample   float64 `json:"bytesPerSample"`
	BytesPerDay      float64 `json:"bytesPerDay"`
	// Full is the size when the first samples expire. It is absent for the tier forever.
	Full *int64 `json:"fullBytes,omitempty"`
}

// horizon is how far ahead a forecast looks, in days.
const horizon = 3650

// grow is the growth of a tier: from now by perDay, up to full, unless that is infinite.
type grow struct{ now, perDay, full float64 }

// at returns the size after some days. A tier that is too full shrinks to full while it is kept.
func (g grow) at(days float64) float64 { return math.Max(g.now, math.Min(g.now+g.perDay*days, g.full)) }

// newForecast predicts the size of the archive. It returns nil and the reason if too little is known.
func newForecast(c *census, m *measured, s *storage, limit int64, limitIs string) (*forecast, string) {
	if s == nil {
		return nil, "the size of the archive is not known"
	}
	if m.missing != "" {
		return nil, "blocks could not be measured: " + m.missing
	}
	f := &forecast{Tiers: []tierForecast{}, PVs: m.pvs, Limit: limitIs, LimitBytes: limit}
	var tiers []grow
	replicas, rest := float64(max(1, s.Replicas)), float64(s.Bytes)
	for tier, rate := range c.total.byTier {
		if rate <= 0 {
			continue
		}
		if m.perSample[tier] == 0 {
			return nil, fmt.Sprintf("no PV of tier %v has a block yet; blocks are written every 15 minutes", store.Tier(tier))
		}
		t := tierForecast{Tier: store.Tier(tier).String(), SamplesPerSecond: rate, BytesPerSample: m.perSample[tier]}
		t.BytesPerDay = rate * 86400 * t.BytesPerSample * replicas
		g := grow{perDay: t.BytesPerDay, full: math.Inf(1)}
		if keep := store.Tier(tier).Keep(); keep > 0 {
			g.full = t.BytesPerDay * keep.Hours() / 24
			t.Full = new(int64(g.full))
		}
		if bytes, known := s.samplesOf(t.Tier); known {
			t.Bytes = &bytes
			g.now = float64(bytes)
		}
		rest -= g.now
		f.PerDay += t.BytesPerDay
		f.Tiers, tiers = append(f.Tiers, t), append(tiers, g)
	}
	if len(tiers) == 0 {
		return nil, "no PV delivers samples now"
	}
	f.settle(tiers, max(0, rest))
	return f, ""
}

// settle predicts when the archive reaches its limit, or at which size it stops to grow. rest is the
// size of what does not grow.
func (f *forecast) settle(tiers []grow, rest float64) {
	size := func(days float64) (sum float64) {
		sum = rest
		for _, t := range tiers {
			sum += t.at(days)
		}
		return sum
	}
	final := rest
	for _, t := range tiers {
		final += math.Max(t.now, t.full)
	}
	if !math.IsInf(final, 1) {
		f.Settles = new(int64(final))
	}
	if f.LimitBytes <= 0 || size(horizon) < float64(f.LimitBytes) {
		return
	}
	low, high := 0.0, float64(horizon) // size only rises
	for range 60 {
		if middle := (low + high) / 2; size(middle) < float64(f.LimitBytes) {
			low = middle
		} else {
			high = middle
		}
	}
	f.ReachedInDays = &high
}

// samplesOf returns the size of the samples of a tier. known is false if samples are not divided by
// tiers.
func (s *storage) samplesOf(tier string) (bytes int64, known bool) {
	known = true
	for _, p := range s.Parts {
		if p.Contents != string(store.SampleContents) {
			continue
		}
		switch p.Tier {
		case "":
			known = false
		case tier:
			bytes += p.Bytes
		}
	}
	return bytes, known
}

// limitOf returns the size that the archive must not exceed, or 0.
func limitOf(f *Fleet, st *stored, s *storage) (bytes int64, is string) {
	for i := range f.Engines {
		if fig := f.Engines[i].Figures; fig != nil && fig.DiskGuard != nil && fig.DiskGuard.Limit > 0 {
			return fig.DiskGuard.Limit, "the disk limit of the archive"
		}
	}
	switch {
	case st.limit > 0:
		return st.limit, "data_disk_usage_max_disk_size of the Cassandra nodes"
	case s != nil && s.Disk != nil:
		return s.Bytes + s.Disk.Free, "the free space of the disk"
	}
	return 0, ""
}

// days formats a number of days for people.
func days(n float64) string {
	switch {
	case n < 1:
		return "less than a day"
	case n < 60:
		return fmt.Sprintf("about %.0f days", n)
	case n < 730:
		return fmt.Sprintf("about %.0f months", n/30.4)
	}
	return fmt.Sprintf("about %.0f years", n/365)
}

// span formats a time of some seconds for people.
func span(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}
