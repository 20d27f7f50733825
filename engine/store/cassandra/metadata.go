package cassandra

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// PutMetadata implements store.Store.
func (s *Store) PutMetadata(ctx context.Context, m store.PVMetadata) error {
	labels := make([]string, len(m.Labels))
	size := len(m.Units)
	for i, l := range m.Labels {
		labels[i] = text(l)
		size += len(l)
	}
	properties := make(map[string]string, len(m.Properties))
	for _, p := range m.Properties {
		properties[text(p.Name)] = text(p.Value)
		size += len(p.Name) + len(p.Value)
	}
	limits := m.Limits()
	return s.write(ctx, write{
		operation: "metadata",
		stmt: `INSERT INTO metadata (pv, time, kind, elements, units, precision, limits, labels, host, properties)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		values: []any{
			m.PV, m.Time, int(m.Type), m.Count, text(m.Units), m.Precision, limits[:], labels, text(m.Host), properties,
		},
		size: size,
	})
}

const (
	metadataColumns = `SELECT time, kind, elements, units, precision, limits, labels, host, properties
		FROM metadata WHERE pv = ? `
	metadataPage = 100
)

// MetadataAt implements store.Store.
func (s *Store) MetadataAt(ctx context.Context, pv string, at int64) (m store.PVMetadata, found bool, err error) {
	for m, err := range s.metadata(ctx, pv, 1, "AND time <= ? LIMIT 1", at) {
		return m, err == nil, err
	}
	for m, err := range s.metadata(ctx, pv, 1, "ORDER BY time ASC LIMIT 1") {
		return m, err == nil, err
	}
	return m, false, nil
}

// Metadata implements store.Store.
func (s *Store) Metadata(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMetadata, error] {
	return s.metadata(ctx, pv, metadataPage, "AND time >= ? AND time <= ? ORDER BY time ASC", from, to)
}

// metadata yields the entries of a PV that match a condition.
func (s *Store) metadata(ctx context.Context, pv string, page int, where string, values ...any) iter.Seq2[store.PVMetadata, error] {
	return func(yield func(store.PVMetadata, error) bool) {
		it := s.query(ctx, "metadata_read", page, metadataColumns+where, append([]any{pv}, values...)...)
		for {
			var kind int
			var limits []float64
			var properties map[string]string
			m := store.PVMetadata{PV: pv}
			if !it.Scan(&m.Time, &kind, &m.Count, &m.Units, &m.Precision, &limits, &m.Labels, &m.Host, &properties) {
				break
			}
			if len(limits) != len(m.Limits()) {
				_ = it.Close() // the error is known already
				yield(store.PVMetadata{}, fmt.Errorf("reading metadata of %s: %d limits, not %d", pv, len(limits), len(m.Limits())))
				return
			}
			m.Type = sample.Type(kind)
			m.SetLimits([8]float64(limits))
			for _, name := range slices.Sorted(maps.Keys(properties)) {
				m.Properties = append(m.Properties, sample.Property{Name: name, Value: properties[name]})
			}
			if !yield(m, nil) {
				_ = it.Close() // the caller stopped early
				return
			}
		}
		if err := it.Close(); err != nil {
			yield(store.PVMetadata{}, fmt.Errorf("reading metadata of %s: %w", pv, err))
		}
	}
}
