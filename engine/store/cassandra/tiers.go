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

// ErrCompatibility is that the servers do not let rows expire as late as a tier asks for.
var ErrCompatibility = errors.New("cassandra refuses rows that expire after 2038-01-19")

// perTier is a statement for the tables of each tier.
type perTier [store.NumTiers]string

// onTiers returns a statement for each tier, whose name stands where it has an @.
func onTiers(stmt string) (p perTier) {
	for r := range p {
		p[r] = strings.ReplaceAll(stmt, "@", store.Tier(r).String())
	}
	return p
}

// tiersFor returns the tiers that a schema of some version gets tables for, 0 being
// none yet.
func (c *Config) tiersFor(version int) []store.Tier {
	tiers := append([]store.Tier{store.Forever}, c.Tiers...)
	if len(c.Tiers) == 0 && version < tierVersion {
		for r := range store.Tier(store.NumTiers) {
			tiers = append(tiers, r)
		}
	}
	slices.Sort(tiers)
	return slices.Compact(tiers)
}

// served is how long an archive should serve before the servers must be set otherwise.
const served = 5 * 365 * 24 * time.Hour

// checkExpiry returns ErrCompatibility if the servers will soon refuse rows that expire
// as late as those of some tiers. Where they do not say, as they are not to be asked,
// they can still refuse a write.
func (c *Config) checkExpiry(ctx context.Context, session *gocql.Session, tiers []store.Tier) error {
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
	for _, r := range tiers {
		at, expires := r.Longest().Of(c.Now().Add(served).UnixNano()).In(r).Expires()
		if expires && at >= end32.UnixNano() {
			long = append(long, r.String())
		}
	}
	if len(long) == 0 {
		return nil
	}
	return fmt.Errorf("%w: storage_compatibility_mode is %s; set it to NONE in cassandra.yaml of all nodes, or leave out tier %s of --tiers",
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

// Tiers implements store.Store.
func (s *Store) Tiers(ctx context.Context) ([]store.Tier, error) {
	if err := s.findTiers(ctx); err != nil {
		return nil, err
	}
	var tiers []store.Tier
	for r := range store.Tier(store.NumTiers) {
		if s.tiers.Load()>>r&1 != 0 {
			tiers = append(tiers, r)
		}
	}
	return tiers, nil
}

// has reports whether a tier has its tables. They may have been made after the
// store was opened, so one that is missing is looked for again.
func (s *Store) has(ctx context.Context, r store.Tier) (bool, error) {
	if !r.Valid() {
		return false, nil
	}
	if s.tiers.Load()>>r&1 == 0 {
		if err := s.findTiers(ctx); err != nil {
			return false, err
		}
	}
	return s.tiers.Load()>>r&1 != 0, nil
}

// need returns what is wrong if a tier has no tables.
func (s *Store) need(ctx context.Context, r store.Tier) error {
	there, err := s.has(ctx, r)
	if err == nil && !there {
		err = fmt.Errorf("%w: keyspace %s has no tables of tier %v; make them with `varve schema --tiers %v`",
			store.ErrNoTier, s.cfg.Keyspace, r, r)
	}
	return err
}

// findTiers looks which tiers have tables, and keeps it.
func (s *Store) findTiers(ctx context.Context) error {
	tiers, err := tiersOf(withOperation(ctx, "tiers"), s.session, s.cfg.Keyspace)
	if err == nil {
		s.tiers.Or(tiers) // a set that only grows, whoever looked last
	}
	return err
}

// tiersOf returns the tiers that have all their tables: bit r is for tier r.
func tiersOf(ctx context.Context, session *gocql.Session, keyspace string) (tiers uint32, err error) {
	there, err := tableNames(ctx, session, keyspace)
	if err != nil {
		return 0, err
	}
	for r := range store.Tier(store.NumTiers) {
		if !slices.ContainsFunc(tierTables, func(t tierTable) bool { return !there[t.of(r)] }) {
			tiers |= 1 << r
		}
	}
	return tiers, nil
}

// Expire implements store.Store: rows expire by themselves.
func (s *Store) Expire(context.Context, int64) error { return nil }
