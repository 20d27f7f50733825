package cassandra

import (
	"context"
	"errors"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

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
	limits := m.Limits()
	return s.write(ctx, write{
		operation: "metadata",
		stmt: `INSERT INTO metadata (pv, time, kind, elements, units, precision, limits, labels, host)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		values: []any{m.PV, m.Time, int(m.Type), m.Count, text(m.Units), m.Precision, limits[:], labels, text(m.Host)},
		size:   size,
	})
}

// MetadataAt implements store.Store.
func (s *Store) MetadataAt(ctx context.Context, pv string, at int64) (m store.PVMetadata, found bool, err error) {
	const columns = "SELECT time, kind, elements, units, precision, limits, labels, host FROM metadata WHERE pv = ? "
	m, found, err = s.metadata(ctx, pv, columns+"AND time <= ? LIMIT 1", pv, at)
	if err == nil && !found {
		m, found, err = s.metadata(ctx, pv, columns+"ORDER BY time ASC LIMIT 1", pv)
	}
	return m, found, err
}

func (s *Store) metadata(ctx context.Context, pv, stmt string, values ...any) (m store.PVMetadata, found bool, err error) {
	var kind int
	var limits []float64
	err = s.session.Query(stmt, values...).ScanContext(withOperation(ctx, "metadata_read"),
		&m.Time, &kind, &m.Count, &m.Units, &m.Precision, &limits, &m.Labels, &m.Host)
	switch {
	case errors.Is(err, gocql.ErrNotFound):
		return store.PVMetadata{}, false, nil
	case err == nil && len(limits) != len(m.Limits()):
		err = fmt.Errorf("%d limits, not %d", len(limits), len(m.Limits()))
	}
	if err != nil {
		return store.PVMetadata{}, false, fmt.Errorf("reading metadata of %s: %w", pv, err)
	}
	m.PV, m.Type = pv, sample.Type(kind)
	m.SetLimits([8]float64(limits))
	return m, true, nil
}
