package cassandra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
)

// ErrCompatibility is that the servers do not let rows expire as late as a rung asks for.
var ErrCompatibility = errors.New("cassandra refuses rows that expire after 2038-01-19")

// perRung is a statement for the tables of each rung.
type perRung [store.NumRungs]string

// onRungs returns a statement for each rung, whose name stands where it has an @.
func onRungs(stmt string) (p perRung) {
	for r := range p {
		p[r] = strings.ReplaceAll(stmt, "@", store.Rung(r).String())
	}
	return p
}

// rungsFor returns the rungs that a schema of some version gets tables for, 0 being
// none yet.
func (c *Config) rungsFor(version int) []store.Rung {
	rungs := append([]store.Rung{store.Forever}, c.Rungs...)
	if len(c.Rungs) == 0 && version < ladderVersion {
		for r := range store.Rung(store.NumRungs) {
			rungs = append(rungs, r)
		}
	}
	slices.Sort(rungs)
	return slices.Compact(rungs)
}

// served is how long an archive should serve before the servers must be set otherwise.
const served = 5 * 365 * 24 * time.Hour

// checkExpiry returns ErrCompatibility if the servers will soon refuse rows that expire
// as late as those of some rungs. Where they do not say, as they are not to be asked,
// they can still refuse a write.
func (c *Config) checkExpiry(ctx context.Context, session *gocql.Session, rungs []store.Rung) error {
	var mode string
	err := session.Query("SELECT value FROM system_views.settings WHERE name = 'storage_compatibility_mode'").ScanContext(ctx, &mode)
	if err != nil {
		c.Log.Debug("the server does not say which storage_compatibility_mode it has", "err", err)
		return nil
	}
	if mode == "NONE" {
		return nil
	}
	var long []string
	for _, r := range rungs {
		at, expires := r.Longest().Of(c.Now().Add(served).UnixNano()).In(r).Expires()
		if expires && at >= end32.UnixNano() {
			long = append(long, r.String())
		}
	}
	if len(long) == 0 {
		return nil
	}
	return fmt.Errorf("%w: storage_compatibility_mode is %s; set it to NONE in cassandra.yaml of all nodes, or leave out rung %s of --rungs",
		ErrCompatibility, mode, strings.Join(long, ", "))
}

// end32 is when a row can expire at the latest unless storage_compatibility_mode is NONE.
var end32 = time.Date(2038, 1, 19, 3, 14, 6, 0, time.UTC)

// Bounds of a row's time to live.
const (
	// shortestTTL is for rows that are written late. It also keeps one that has
	// expired already from having a TTL of 0, which is forever, or of less, which
	// Cassandra refuses.
	shortestTTL = time.Hour
	// longestTTL is Cassandra's own.
	longestTTL = 20 * 365 * 24 * time.Hour
	// outlive is how much longer than rows is kept what they can not be read without:
	// more than lies between the writing of the two, and between the clocks of nodes.
	outlive = time.Hour
)

// ttl returns the seconds that a row has to live which goes at a time, if ever: what
// an Expires returns. 0 is forever, as in CQL.
func (s *Store) ttl(expires int64, ok bool) int {
	if !ok {
		return 0
	}
	now := s.cfg.Now().UnixNano()
	left := time.Duration(max(expires, now) - now)
	return int(min(max(left, s.shortestTTL), longestTTL-s.outlive) / time.Second)
}

// longer returns a ttl for what rows of some ttl can not be read without.
func (s *Store) longer(ttl int) int {
	if ttl == 0 {
		return 0
	}
	return ttl + int(s.outlive/time.Second)
}

// Rungs implements store.Store.
func (s *Store) Rungs(ctx context.Context) ([]store.Rung, error) {
	if err := s.findRungs(ctx); err != nil {
		return nil, err
	}
	var rungs []store.Rung
	for r := range store.Rung(store.NumRungs) {
		if s.rungs.Load()>>r&1 != 0 {
			rungs = append(rungs, r)
		}
	}
	return rungs, nil
}

// has reports whether a rung has its tables. They may have been made after the
// store was opened, so one that is missing is looked for again.
func (s *Store) has(ctx context.Context, r store.Rung) (bool, error) {
	if !r.Valid() {
		return false, nil
	}
	if s.rungs.Load()>>r&1 == 0 {
		if err := s.findRungs(ctx); err != nil {
			return false, err
		}
	}
	return s.rungs.Load()>>r&1 != 0, nil
}

// need returns what is wrong if a rung has no tables.
func (s *Store) need(ctx context.Context, r store.Rung) error {
	there, err := s.has(ctx, r)
	if err == nil && !there {
		err = fmt.Errorf("%w: keyspace %s has no tables of rung %v; make them with `varve schema --rungs %v`",
			store.ErrNoRung, s.cfg.Keyspace, r, r)
	}
	return err
}

// findRungs looks which rungs have tables, and keeps it.
func (s *Store) findRungs(ctx context.Context) error {
	rungs, err := rungsOf(withOperation(ctx, "rungs"), s.session, s.cfg.Keyspace)
	if err == nil {
		s.rungs.Or(rungs) // a set that only grows, whoever looked last
	}
	return err
}

// rungsOf returns the rungs that have all their tables: bit r is for rung r.
func rungsOf(ctx context.Context, session *gocql.Session, keyspace string) (rungs uint32, err error) {
	there, err := tableNames(ctx, session, keyspace)
	if err != nil {
		return 0, err
	}
	for r := range store.Rung(store.NumRungs) {
		if !slices.ContainsFunc(rungTables, func(t rungTable) bool { return !there[t.of(r)] }) {
			rungs |= 1 << r
		}
	}
	return rungs, nil
}

// Expire implements store.Store: rows expire by themselves.
func (s *Store) Expire(context.Context, int64) error { return nil }
