package store

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Tier is a retention tier: it defines how long rows are kept. The retention that a group
// requests is rounded up to a tier, so that the rows of a table expire together and the store
// can delete whole files. The store contains these numbers, so they must not change.
type Tier uint8

// Tiers. A year has 365 days.
const (
	Forever Tier = iota
	Keep1d
	Keep7d
	Keep30d
	Keep90d
	Keep1y
	Keep2y
	Keep5y
	Keep10y

	// NumTiers is the number of tiers.
	NumTiers = int(iota)
)

const day = 24 * time.Hour

var tierKeeps = [NumTiers]time.Duration{
	0, day, 7 * day, 30 * day, 90 * day, 365 * day, 2 * 365 * day, 5 * 365 * day, 10 * 365 * day,
}

var tierNames = [NumTiers]string{"forever", "1d", "7d", "30d", "90d", "1y", "2y", "5y", "10y"}

// TierFor returns the shortest tier that keeps rows for at least the given time. A time of 0
// means forever.
func TierFor(keep time.Duration) Tier {
	if keep <= 0 {
		return Forever
	}
	for r := Keep1d; int(r) < NumTiers; r++ {
		if keep <= tierKeeps[r] {
			return r
		}
	}
	return Forever
}

// ParseTier returns the tier with the given name. It is the reverse of String.
func ParseTier(name string) (Tier, error) {
	if i := slices.Index(tierNames[:], name); i >= 0 {
		return Tier(i), nil
	}
	return Forever, fmt.Errorf("unknown tier %q; the tiers are %s", name, strings.Join(tierNames[:], ", "))
}

// Valid reports whether this version knows the tier.
func (r Tier) Valid() bool { return int(r) < NumTiers }

// Keep returns how long rows are kept after the end of their bucket or tile. 0 means forever.
func (r Tier) Keep() time.Duration { return tierKeeps[r] }

// Longer reports whether the tier keeps rows longer than another one.
func (r Tier) Longer(than Tier) bool {
	return r != than && (r == Forever || than != Forever && r > than)
}

// Longest returns the longest bucket of the tier. All rows of a bucket expire together, so no
// bucket is longer than a tenth of its retention time.
func (r Tier) Longest() BucketSize {
	for s := Year; s > Hour; s-- {
		if r == Forever || s.Span() <= r.Keep()/10 {
			return s
		}
	}
	return Hour
}

// String returns "forever", "1d" … "10y".
func (r Tier) String() string {
	if r.Valid() {
		return tierNames[r]
	}
	return fmt.Sprintf("tier(%d)", uint8(r))
}
