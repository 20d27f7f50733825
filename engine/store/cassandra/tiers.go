package cassandra

import (
	"context"
	"fmt"
	"strings"
	"time"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/schema"
)

// perTier holds a statement for each tier.
type perTier [store.NumTiers]string

// onTiers returns a statement for each tier. It replaces each @ by the tier's name.
func onTiers(stmt string) (p perTier) {
	for r := range p {
		p[r] = strings.ReplaceAll(stmt, "@", store.Tier(r).String())
	}
	return p
}

// Bounds of a row's time to live.
const (
	// shortestTTL is the TTL of rows that are written late. A row that has already
	// expired would otherwise get a TTL of 0, which means forever, or a negative one, which
	// Cassandra refuses.
	shortestTTL = time.Hour
	// longestTTL is the longest TTL that Cassandra accepts.
	longestTTL = 20 * 365 * 24 * time.Hour
)

// ttl returns the TTL, in seconds, of a row. expires and ok are the results of an Expires
// method. 0 means forever, as in CQL. A wrong clock, of this machine or of the nodes, makes the
// TTL longer but never shorter.
func (s *Store) ttl(expires int64, ok bool) int {
	if !ok {
		return 0
	}
	now := s.earliest()
	left := time.Duration(max(expires, now) - now)
	return int(min(max(left, s.shortestTTL), longestTTL-s.outlive) / time.Second)
}

// longer returns the TTL of the parts and notes of rows with the given TTL.
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

// has reports whether a tier has its tables. The tables may have been created after the store
// was opened, so has checks again for a missing tier.
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

// need returns an error if a tier has no tables.
func (s *Store) need(ctx context.Context, r store.Tier) error {
	there, err := s.has(ctx, r)
	if err == nil && !there {
		err = fmt.Errorf("%w: keyspace %s has no tables of tier %v; create them with `varve schema --tiers %v`",
			store.ErrNoTier, s.cfg.Keyspace, r, r)
	}
	return err
}

// findTiers reads which tiers have tables and keeps the result.
func (s *Store) findTiers(ctx context.Context) error {
	tiers, err := schema.Tiers(withOperation(ctx, "tiers"), s.session, s.cfg.Keyspace)
	if err == nil {
		s.tiers.Or(tiers) // tiers are only ever added
	}
	return err
}

// Expire implements store.Store. Rows expire by themselves.
func (s *Store) Expire(context.Context, int64) error { return nil }
