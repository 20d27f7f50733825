package rdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"varve.dev/varve/engine/sample"
)

// maxLabels bounds the labels of an enumeration.
const maxLabels = 1024

// metadata returns what the tables know about the values of the channel now. They have no history.
func (r *channelReader) metadata(ctx context.Context) (*sample.Metadata, error) {
	m := &sample.Metadata{}
	limits := [8]float64{}
	for i := range limits {
		limits[i] = math.NaN()
	}
	if r.channel.descr != "" {
		m.Properties = []sample.Property{{Name: "DESC", Value: r.channel.descr}}
	}
	var err error
	if m.Labels, err = r.readLabels(ctx); err != nil {
		return nil, err
	}
	var found [6]sql.NullFloat64
	var precision sql.NullInt64
	var unit sql.NullString
	row := r.db.QueryRowContext(ctx, r.dialect.query("SELECT low_disp_rng, high_disp_rng, low_warn_lmt, high_warn_lmt,"+
		" low_alarm_lmt, high_alarm_lmt, prec, unit FROM num_metadata WHERE channel_id = ?"), r.channel.id)
	err = row.Scan(&found[0], &found[1], &found[2], &found[3], &found[4], &found[5], &precision, &unit)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	for i, f := range found {
		if f.Valid {
			limits[i] = f.Float64
		}
	}
	m.SetLimits(limits)
	m.Precision, m.Units = int(min(max(precision.Int64, 0), math.MaxInt16)), unit.String
	return m, nil
}

// readLabels returns the labels of an enumeration, or nil. A state without a row has an empty label.
func (r *channelReader) readLabels(ctx context.Context) (labels []string, err error) {
	rows, err := r.db.QueryContext(ctx, r.dialect.query("SELECT enum_nbr, enum_val FROM enum_metadata WHERE channel_id = ? ORDER BY enum_nbr"), r.channel.id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var number sql.NullInt64
		var label sql.NullString
		if err := rows.Scan(&number, &label); err != nil {
			return nil, err
		}
		if number.Int64 < 0 || number.Int64 >= maxLabels {
			r.to.Problem("table enum_metadata", 0, fmt.Errorf("channel %d: enum_nbr is %d: want 0 to %d", r.channel.id, number.Int64, maxLabels-1))
			continue
		}
		for len(labels) <= int(number.Int64) {
			labels = append(labels, "")
		}
		labels[number.Int64] = label.String
	}
	return labels, rows.Err()
}

// noteUnknown reports the texts of alarms that have no number.
func (r *channelReader) noteUnknown() {
	for _, text := range slices.Sorted(maps.Keys(r.unknown)) {
		r.to.Note(fmt.Sprintf("%s is unknown in EPICS base; %d samples have the number 0 (status) or INVALID (severity) instead", text, r.unknown[text]))
	}
}
