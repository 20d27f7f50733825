package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/store"
)

// TestOptionsOfTiers checks that a window is about a 30th of the retention time. Expired rows
// stay as long as a node may be down, but not much longer than the retention time.
func TestOptionsOfTiers(t *testing.T) {
	for r, want := range map[store.Tier]string{
		store.Keep1d: "1 h, 29.4 h", store.Keep7d: "6 h, 187.8 h", store.Keep30d: "24 h, 240 h", store.Keep90d: "72 h, 240 h",
		store.Keep1y: "292 h, 240 h", store.Keep2y: "584 h, 240 h", store.Keep5y: "1460 h, 240 h", store.Keep10y: "2920 h, 240 h",
	} {
		options := tierOptions(r)
		var window int
		var grace float64
		number := func(after string, to any) {
			_, rest, _ := strings.Cut(options, after)
			if _, err := fmt.Sscan(strings.TrimLeft(strings.NewReplacer("'", " ", "}", " ").Replace(rest), " "), to); err != nil {
				t.Errorf("cannot parse %s in %q: %v", after, options, err)
			}
		}
		number("window_size': ", &window)
		number("gc_grace_seconds = ", &grace)
		if diff := cmp.Diff(want, fmt.Sprintf("%d h, %g h", window, grace/3600)); diff != "" {
			t.Errorf("tier %v (-want +got):\n%s", r, diff)
		}
	}
	if options := tierOptions(store.Forever); strings.Contains(options, "TimeWindow") || strings.Contains(options, "gc_grace") {
		t.Errorf("the tables of tier forever have the options %q", options)
	}
}
