package cassandra

import (
	"context"
	"fmt"
	"strings"
	"time"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/schema"
)

// perTier is a statement for the tables of each tier.
type perTier [store.NumTiers]string

// onTiers returns a statement for each tier, whose name stands where it has an @.
func onTiers(stmt string) (p perTier) {
	for r := range p {
		p[r] = strings.ReplaceAll(stmt, "@", store.Tier(r).String())
	}
	return p
}

// Bounds of a row's time to live.
const (
	// shortestTTL is for rows that are written late. It also keeps one that has
	// expired already from having a TTL of 0, which is forever, or of less, which
	// Cassandra refuses.
	shortestTTL = time.Hour
	// longestTTL is Cassandra's own.
	longestTTL = 20 * 365 * 24 * time.Hour
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
	tiers, err := schema.Tiers(withOperation(ctx, "tiers"), s.session, s.cfg.Keyspace)
	if err == nil {
		s.tiers.Or(tiers) // a set that only grows, whoever looked last
	}
	return err
}

// Expire implements store.Store: rows expire by themselves.
func (s *Store) Expire(context.Context, int64) error { return nil }
