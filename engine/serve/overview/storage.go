package overview

import (
	"cmp"
	"context"
	"slices"
	"time"

	"varve.dev/varve/engine/store"
)

// storage is the state of the store.
type storage struct {
	Kind  string `json:"kind"`
	Where string `json:"where"`
	// Disk is absent if the archive is not in a directory.
	Disk *disk `json:"disk,omitempty"`
	// Nodes is absent if the store has no nodes.
	Nodes    []node `json:"nodes,omitempty"`
	Replicas int    `json:"replicas,omitempty"`
	// Bytes is the size of the archive in all replicas.
	Bytes int64  `json:"bytes"`
	Parts []part `json:"parts"`
	// Estimated means that the sizes of tiers are estimates.
	Estimated bool `json:"estimated,omitempty"`
	// Missing says why parts or nodes are missing.
	Missing string `json:"missing,omitempty"`
}

type disk struct {
	Size int64 `json:"sizeBytes"`
	Free int64 `json:"freeBytes"`
}

type node struct {
	Address string `json:"address"`
	Up      bool   `json:"up"`
	Bytes   *int64 `json:"bytes,omitempty"`
}

// part is a part of the archive on disk.
type part struct {
	Contents string `json:"contents"`
	Tier     string `json:"tier,omitempty"`
	Bytes    int64  `json:"bytes"`
}

// Limits of the time for describing the store, and for measuring samples.
const (
	describeTime = 10 * time.Second
	measureTime  = 5 * time.Second
)

// stored is the description of the store, or why there is none.
type stored struct {
	desc    store.Description
	limit   int64 // by the settings of the store's servers, in bytes; 0: none
	missing string
}

func (h *Handler) describe(ctx context.Context) stored {
	d, err := store.Describe(ctx, h.reader.Store)
	if err != nil {
		return stored{missing: err.Error()}
	}
	limit, err := h.reader.Store.Limit(ctx)
	if err != nil {
		limit = 0
	}
	return stored{desc: d, limit: limit}
}

func newStorage(d *store.Description) *storage {
	s := &storage{Kind: d.Kind, Where: d.Where, Replicas: d.Replicas, Parts: []part{}, Estimated: d.Estimated, Missing: d.Missing}
	if d.Disk != nil {
		s.Disk = &disk{d.Disk.Size, d.Disk.Free}
	}
	for _, n := range d.Nodes {
		out := node{Address: n.Address, Up: n.Up}
		if n.Bytes >= 0 {
			out.Bytes = &n.Bytes
		}
		s.Nodes = append(s.Nodes, out)
	}
	slices.SortFunc(s.Nodes, func(a, b node) int { return cmp.Compare(a.Address, b.Address) })
	for _, p := range d.Parts {
		s.Bytes += p.Bytes
		out := part{Contents: string(p.Contents), Bytes: p.Bytes}
		if p.Tiered {
			out.Tier = p.Tier.String()
		}
		s.Parts = append(s.Parts, out)
	}
	slices.SortFunc(s.Parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Contents+a.Tier, b.Contents+b.Tier))
	})
	return s
}

// measured is how many bytes a stored sample of each tier takes, in one replica.
type measured struct {
	perSample [store.NumTiers]float64 // 0: not known
	pvs       int
	missing   string
}

// Bounds of the blocks that are read to measure samples of a tier.
const (
	maxMeasuredBytes = 4 << 20
	measuredSpan     = 24 * time.Hour
)

// measure reads the latest blocks of some PVs of each tier.
func (h *Handler) measure(ctx context.Context, c *census) (m measured) {
	until := h.now().UnixNano()
	for tier, pvs := range c.total.pvs {
		bytes, samples := 0, 0
		for _, pv := range pvs {
			if bytes > maxMeasuredBytes {
				break
			}
			b, n, err := h.measurePV(ctx, pv, store.Tier(tier), until)
			if err != nil {
				m.missing = err.Error()
				break
			}
			if n > 0 {
				m.pvs++
			}
			bytes, samples = bytes+b, samples+n
		}
		if samples > 0 {
			m.perSample[tier] = float64(bytes) / float64(samples)
		}
	}
	return m
}

// measurePV returns the size and the number of the samples of a PV in its latest blocks in a tier.
func (h *Handler) measurePV(ctx context.Context, pv string, tier store.Tier, until int64) (bytes, samples int, err error) {
	entry, found, err := h.reader.Store.Channel(ctx, pv)
	if err != nil || !found {
		return 0, 0, err
	}
	var buckets []store.Bucket
	for b := range store.InUse(entry.Starts, until, until) {
		if b.Tier() == tier && b.End() > until-int64(measuredSpan) {
			buckets = append(buckets, b)
		}
	}
	slices.SortFunc(buckets, func(a, b store.Bucket) int { return cmp.Compare(b.Start(), a.Start()) })
	for _, b := range buckets { // the latest may have no blocks yet
		for blk, err := range h.reader.Store.Blocks(ctx, pv, b, until-int64(measuredSpan), until) {
			if err != nil {
				return 0, 0, err
			}
			if bytes, samples = bytes+len(blk.Blob), samples+blk.Count; bytes > maxMeasuredBytes {
				break
			}
		}
		if samples > 0 {
			break
		}
	}
	return bytes, samples, nil
}
