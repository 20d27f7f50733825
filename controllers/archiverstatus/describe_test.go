package archiverstatus

import (
	"testing"
	"time"
)

func TestTimesInMessages(t *testing.T) {
	for seconds, want := range map[float64]string{90: "1 min", 2 * 3600: "2 h", 47.9 * 3600: "47 h", 50 * 3600: "2 days"} {
		if got := describeHours(seconds); got != want {
			t.Errorf("%v s is %q, want %q", seconds, got, want)
		}
	}
	for offset, want := range map[time.Duration]string{
		-41 * time.Second: "40 s ahead", 3 * time.Minute: "3 min behind", -5 * time.Hour: "5 h ahead", 71 * time.Hour: "3 days behind",
	} {
		if got := describeOffset(offset); got != want {
			t.Errorf("an offset of %v is %q, want %q", offset, got, want)
		}
	}
	for n, want := range map[int]string{1: "1 shard", 3: "3 shards"} {
		if got := countShards(n); got != want {
			t.Errorf("%d shards are %q", n, got)
		}
	}
}
