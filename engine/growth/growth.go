// Package growth predicts how large an archive becomes, by retention tier, if its PVs continue as they do now:
//
//	store: latest blocks and tiles of a PV ──Measure──▶ Streams: bytes per day, tier
//	                                                      │ of many PVs
//	                                                      ▼ Sum
//	                                          Stream.At(30 days) ──▶ bytes kept then
//
// It counts the blobs of blocks and tiles in one replica, so what is kept, after compression. Growth.go is pure.
package growth

import (
	"cmp"
	"slices"
	"time"

	"varve.dev/varve/engine/store"
)

const day = 24 * time.Hour

// Stream is what one PV, or many PVs, add to one tier: samples, or rollups.
type Stream struct {
	Contents store.Contents
	Tier     store.Tier
	// PerDay is the number of bytes that are added per day.
	PerDay float64
	// Bytes is what is stored now. Age is the age of its oldest part.
	Bytes float64
	Age   time.Duration
	// Slack is how much longer than the tier promises a row stays on average, because all rows of a bucket or tile
	// expire together.
	Slack time.Duration
}

// Kept returns how long rows stay. forever is true if they do not expire.
func (s *Stream) Kept() (kept time.Duration, forever bool) {
	keep := s.Tier.Keep()
	return keep + s.Slack, keep == 0
}

// At returns the number of bytes that are kept after some time. What is stored now expires as if it had been written
// evenly since its oldest part.
func (s *Stream) At(after time.Duration) float64 {
	kept, forever := s.Kept()
	if forever {
		return s.Bytes + s.PerDay*inDays(after)
	}
	added := s.PerDay * inDays(min(after, kept))
	age := min(s.Age, kept)
	switch {
	case after >= kept:
		return added
	case age <= 0 || after+age <= kept:
		return s.Bytes + added
	}
	return added + s.Bytes*float64(kept-after)/float64(age)
}

// Full returns the size at which the stream no longer grows. ok is false if it never stops.
func (s *Stream) Full() (bytes float64, ok bool) {
	kept, forever := s.Kept()
	if forever {
		return 0, s.PerDay == 0
	}
	return s.PerDay * inDays(kept), true
}

func inDays(d time.Duration) float64 { return float64(d) / float64(day) }

// Scale returns streams of more PVs that behave like those of the given ones.
func Scale(streams []Stream, by float64) []Stream {
	out := slices.Clone(streams)
	for i := range out {
		out[i].PerDay *= by
		out[i].Bytes *= by
	}
	return out
}

// Sum joins the streams of the same contents and tier. Their ages and slacks become means, weighted by their bytes per
// day. The result is sorted by contents, samples first, and by tier, forever last.
func Sum(streams ...Stream) (out []Stream) {
	type key struct {
		contents store.Contents
		tier     store.Tier
	}
	at := map[key]int{}
	for _, s := range streams {
		k := key{s.Contents, s.Tier}
		i, known := at[k]
		if !known {
			at[k] = len(out)
			out = append(out, s)
			continue
		}
		sum := &out[i]
		if all := sum.PerDay + s.PerDay; all > 0 {
			share := s.PerDay / all
			sum.Age += time.Duration(share * float64(s.Age-sum.Age))
			sum.Slack += time.Duration(share * float64(s.Slack-sum.Slack))
		} else {
			sum.Age = max(sum.Age, s.Age)
		}
		sum.PerDay += s.PerDay
		sum.Bytes += s.Bytes
	}
	slices.SortFunc(out, func(a, b Stream) int {
		return cmp.Or(cmp.Compare(b.Contents, a.Contents), compareTiers(a.Tier, b.Tier))
	})
	return out
}

func compareTiers(a, b store.Tier) int {
	switch {
	case a == b:
		return 0
	case a.Longer(b):
		return 1
	}
	return -1
}

// At returns the number of bytes that all streams keep after some time.
func At(streams []Stream, after time.Duration) (sum float64) {
	for i := range streams {
		sum += streams[i].At(after)
	}
	return sum
}
