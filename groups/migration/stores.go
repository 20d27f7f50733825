package migration

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve.dev/varve/api/v1alpha1"
)

// partitions are the lengths of the partitions of a store. Those of months and years are rounded up.
var partitions = map[string]time.Duration{
	"PARTITION_5MIN": 5 * time.Minute, "PARTITION_15MIN": 15 * time.Minute, "PARTITION_30MIN": 30 * time.Minute,
	"PARTITION_HOUR": time.Hour, "PARTITION_DAY": 24 * time.Hour, "PARTITION_MONTH": 31 * 24 * time.Hour, "PARTITION_YEAR": 366 * 24 * time.Hour,
}

// maxRollups is the maximum number of rollups of a group.
const maxRollups = 8

// stores translates the stores of a PV. Samples that reach a black hole are deleted: Varve keeps them at
// least as long as the stores before it. Varve keeps all samples where the Appliance thins them out, and
// computes rollups of the same width.
func (s *Source) stores(pv string, out *Settings, urls []string) {
	var kept time.Duration
	known := true
	var widths []int64
	for i, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			s.differ(pv, "the store %q cannot be understood; Varve keeps all samples", text)
			return
		}
		q := u.Query()
		if u.Scheme == "blackhole" {
			switch {
			case i == 0:
				s.differ(pv, "the Appliance stores nothing of it; Varve keeps all samples")
			case known:
				out.Raw = v1alpha1.Duration(fmt.Sprintf("%dd", (kept+24*time.Hour-1)/(24*time.Hour)))
			default:
				s.differ(pv, "the Appliance deletes its samples after a time that the stores do not say; Varve keeps all samples")
			}
			break
		}
		length, ok := keeps(q)
		kept += length
		known = known && ok && kept <= longest
		widths = append(widths, s.reduced(pv, q)...)
	}
	slices.Sort(widths)
	widths = slices.Compact(widths)
	var rollups []string
	for _, w := range widths[:min(len(widths), maxRollups)] {
		rollups = append(rollups, string(duration(w*1000)))
	}
	out.Rollups = strings.Join(rollups, ",")
}

// longest is the longest time for which stores may keep samples before a black hole. It also keeps the sum
// of such times from overflowing.
const longest = 100 * 366 * 24 * time.Hour

// keeps returns how long a store keeps samples before they go to the next one: as many partitions as the
// parameter hold says, or one. It reports false if that is not known or longer than longest.
func keeps(store url.Values) (time.Duration, bool) {
	length, ok := partitions[store.Get("partitionGranularity")]
	hold := 1
	if text := store.Get("hold"); text != "" {
		n, err := strconv.Atoi(text)
		hold, ok = n, ok && err == nil
	}
	if !ok || hold < 1 || int64(hold) > int64(longest/length) {
		return 0, false
	}
	return time.Duration(hold) * length, true
}

// reduced returns the widths in s of the bins that a store computes.
func (s *Source) reduced(pv string, store url.Values) (widths []int64) {
	if op := store.Get("reducedata"); op != "" {
		s.differ(pv, "the Appliance keeps only %s in the store %q; Varve keeps all samples, and computes rollups. To delete samples, set retention.raw", op, store.Get("name"))
	}
	for _, op := range slices.Concat(store["pp"], store["reducedata"]) {
		at := strings.LastIndexByte(op, '_')
		w, err := strconv.ParseInt(op[at+1:], 10, 64)
		if at < 0 || err != nil || w < 1 || w > 366*86400 {
			s.differ(pv, "the reduced data %q has no width in seconds; Varve computes it when it is read", op)
			continue
		}
		widths = append(widths, w)
	}
	return widths
}
