package schema

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

// tiersFor returns the tiers that a schema of some version gets tables for, 0 being
// none yet.
func (c *target) tiersFor(version int) []store.Tier {
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
func (c *target) checkExpiry(ctx context.Context, session *gocql.Session, tiers []store.Tier) error {
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

// Tiers returns the tiers that have all their tables: bit r is for tier r.
func Tiers(ctx context.Context, session *gocql.Session, keyspace string) (tiers uint32, err error) {
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
