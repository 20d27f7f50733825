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

// ErrCompatibility means that the servers refuse rows that expire as late as those of a tier.
var ErrCompatibility = errors.New("cassandra refuses rows that expire after 2038-01-19")

// tiersFor returns the tiers for which Create creates tables, given the format level of the
// archive. Level 0 means that there is no schema yet.
func (c *target) tiersFor(level store.FormatLevel) []store.Tier {
	tiers := append([]store.Tier{store.Forever}, c.Tiers...)
	if len(c.Tiers) == 0 && level < tierLevel {
		for r := range store.Tier(store.NumTiers) {
			tiers = append(tiers, r)
		}
	}
	slices.Sort(tiers)
	return slices.Compact(tiers)
}

// served is how long an archive must work without a change of its servers' settings.
const served = 5 * 365 * 24 * time.Hour

// checkExpiry returns ErrCompatibility if the servers will soon refuse rows that expire as
// late as those of some tiers. If the user may not read the setting, checkExpiry returns nil,
// and the servers may refuse a write later.
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

// end32 is the latest time at which a row can expire unless storage_compatibility_mode is
// NONE.
var end32 = time.Date(2038, 1, 19, 3, 14, 6, 0, time.UTC)

// Tiers returns the tiers that have all their tables, as bits: bit r stands for tier r.
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
