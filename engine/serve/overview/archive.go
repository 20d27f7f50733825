package overview

import (
	"context"
	"net/http"
	"time"

	"varve.dev/varve/engine/serve/openapi"
)

// Times for which results are used again, and in which they must be there.
const (
	censusTime  = 30 * time.Second
	fleetTime   = 10 * time.Second
	storedFor   = 15 * time.Second
	measuredFor = 10 * time.Minute
	growthsFor  = time.Minute
	cutoffTime  = time.Second
)

// archive is the answer of /api/v1/archive.
type archive struct {
	// At is when the channels were counted.
	At       string    `json:"at"`
	Problems []Problem `json:"problems"`
	Channels counts    `json:"channels"`
	Engines  []Engine  `json:"engines"`
	// Shards is absent if the process does not know them.
	Shards   *shards   `json:"shards,omitempty"`
	Moves    []Move    `json:"moves"`
	Storage  *storage  `json:"storage,omitempty"`
	Forecast *forecast `json:"forecast,omitempty"`
	// GivenUp is absent if the disk guard deleted nothing early.
	GivenUp *givenUp `json:"givenUp,omitempty"`
	// Unknown says why members are absent or incomplete, by their names.
	Unknown map[string]string `json:"unknown"`
}

type shards struct {
	Shards   int     `json:"shards"`
	Captured int     `json:"captured"`
	List     []Shard `json:"list"`
}

// givenUp describes the raw samples that the disk guard deleted early.
type givenUp struct {
	Before string `json:"before"`
	At     string `json:"at"`
	Size   int64  `json:"sizeBytes"`
	Limit  int64  `json:"limitBytes"`
}

// archive answers the state of the archive.
func (h *Handler) archive(w http.ResponseWriter, r *http.Request, _ *openapi.Query) {
	a, err := h.overview(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	answer(w, http.StatusOK, a)
}

// overview gathers the state of the archive. It returns an error only if ctx ends.
func (h *Handler) overview(ctx context.Context) (*archive, error) {
	c, err := h.censusOf(ctx)
	if err != nil {
		return nil, err
	}
	a := &archive{At: clock(c.at.UnixNano()), Channels: c.total, Engines: []Engine{}, Moves: []Move{}, Unknown: map[string]string{}}
	a.unknown("channels", c.missing)
	fleet, err := h.addFleet(ctx, a)
	if err != nil {
		return nil, err
	}
	st, err := h.stored.get(ctx, h.now, describeTime, h.describe)
	if err != nil {
		return nil, err
	}
	if a.unknown("storage", st.missing); st.missing == "" {
		a.Storage = newStorage(&st.desc)
	}
	m, err := h.measured.get(ctx, h.now, measureTime, func(ctx context.Context) measured { return h.measure(ctx, c) })
	if err != nil {
		return nil, err
	}
	limit, is := limitOf(fleet, &st, a.Storage)
	var why string
	a.Forecast, why = newForecast(c, &m, a.Storage, limit, is)
	a.unknown("forecast", why)
	a.GivenUp = h.readGivenUp(ctx, a)
	a.Problems = problemsOf(a, h.warnings(ctx))
	return a, ctx.Err()
}

// unknown notes why a member is absent, unless why is empty.
func (a *archive) unknown(member, why string) {
	if why != "" {
		a.Unknown[member] = why
	}
}

// addFleet adds engines, shards and moves.
func (h *Handler) addFleet(ctx context.Context, a *archive) (*Fleet, error) {
	if h.sources.Engines == nil {
		for _, member := range []string{"engines", "shards", "moves"} {
			a.unknown(member, "this process does not know the engines of the archive")
		}
		return &Fleet{}, nil
	}
	f, err := h.fleetOf(ctx)
	if err != nil {
		return nil, err
	}
	a.unknown("engines", f.Missing)
	a.Engines, a.Moves = append(a.Engines, f.Engines...), append(a.Moves, f.Moves...)
	if f.Shards > 0 {
		a.Shards = &shards{f.Shards, f.Captured, append([]Shard{}, f.Assigned...)}
	} else if f.Missing != "" {
		a.unknown("shards", f.Missing)
	}
	return &f, nil
}

// fleetOf returns a recent state of the engines, which the process must know.
func (h *Handler) fleetOf(ctx context.Context) (Fleet, error) {
	return h.fleet.get(ctx, h.now, fleetTime, func(ctx context.Context) Fleet {
		f := h.sources.Engines(ctx)
		setLoads(f.Engines)
		return f
	})
}

// setLoads compares the rates of engines with their mean.
func setLoads(engines []Engine) {
	sum, n := 0.0, 0
	for i := range engines {
		if f := engines[i].Figures; f != nil {
			sum, n = sum+f.SamplesPerSecond, n+1
		}
	}
	for i := range engines {
		if f := engines[i].Figures; f != nil && n > 1 && sum > 0 {
			f.Load = new(f.SamplesPerSecond * float64(n) / sum)
		}
	}
}

// readGivenUp describes what the disk guard deleted early, or nil.
func (h *Handler) readGivenUp(ctx context.Context, a *archive) *givenUp {
	ctx, cancel := context.WithTimeout(ctx, cutoffTime)
	defer cancel()
	c, found, err := h.reader.Store.Cutoff(ctx)
	switch {
	case err != nil:
		a.unknown("givenUp", err.Error())
		return nil
	case !found:
		return nil
	}
	return &givenUp{clock(c.Before), clock(c.At), c.Size, c.Limit}
}
