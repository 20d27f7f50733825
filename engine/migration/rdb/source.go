package rdb

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"varve.dev/varve/engine/migration"
	"varve.dev/varve/engine/pvname"
)

// dialect is the dialect of SQL.
type dialect int

const (
	postgres dialect = iota
	mySQL
)

// query writes the placeholders of a query, which are ? here, as the dialect wants them.
func (d dialect) query(text string) string {
	if d == mySQL {
		return text
	}
	var out strings.Builder
	n := 0
	for _, r := range text {
		if r != '?' {
			out.WriteRune(r)
			continue
		}
		n++
		fmt.Fprintf(&out, "$%d", n)
	}
	return out.String()
}

// Source is the database of an RDB archiver.
type Source struct {
	// Skipped are the channels that are not imported, because Varve cannot have a PV of this name.
	Skipped []migration.Skipped

	db      *sql.DB
	dialect dialect
	opts    Options
	opened  time.Time

	sampleTime, elementTime timeColumn
	blobs                   bool // the table sample has arrays
	elements                bool // the table array_val may have rows
	wide                    bool // num_val has 64 bits

	statuses, severities *nameTable
	channels             map[string][]channel // by canonical name of the PV
}

// channel is a row of the table channel.
type channel struct {
	id    int64
	descr string
}

// PVs implements migration.Source.
func (s *Source) PVs() []string { return slices.Sorted(maps.Keys(s.channels)) }

// Read implements migration.Source. A PV may have several channels: X, X.VAL and ca://X are the same PV.
func (s *Source) Read(ctx context.Context, pv string, since, until int64, to migration.Sink) error {
	for _, c := range s.channels[pv] {
		r := &channelReader{Source: s, channel: c, since: since, until: until, to: to}
		if err := r.read(ctx); err != nil {
			return fmt.Errorf("reading channel %d: %w", c.id, err)
		}
	}
	return nil
}

// readChannels reads the names of the channels.
func (s *Source) readChannels(ctx context.Context) error {
	rows, err := s.db.QueryContext(ctx, "SELECT channel_id, name, descr FROM channel ORDER BY channel_id")
	if err != nil {
		return fmt.Errorf("reading the table channel: %w", err)
	}
	defer rows.Close()
	s.channels = map[string][]channel{}
	for rows.Next() {
		var c channel
		var name, descr sql.NullString
		if err := rows.Scan(&c.id, &name, &descr); err != nil {
			return fmt.Errorf("reading the table channel: %w", err)
		}
		c.descr = descr.String
		s.add(name.String, c)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading the table channel: %w", err)
	}
	return nil
}

// add adds a channel if its PV is wanted.
func (s *Source) add(name string, c channel) {
	pv := pvname.Canonical(name)
	err := pvname.Check(pv)
	if scheme, _, found := strings.Cut(pv, "://"); found {
		err = fmt.Errorf("names with %s:// are no names of Channel Access or pvAccess", scheme)
	}
	switch {
	case err != nil:
		s.Skipped = append(s.Skipped, migration.Skipped{Path: fmt.Sprintf("channel %d, %q", c.id, name), Reason: err.Error()})
	case s.opts.Want == nil || s.opts.Want(pv):
		s.channels[pv] = append(s.channels[pv], c)
	}
}
