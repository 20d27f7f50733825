package channellist

import (
	"fmt"
	"strings"

	"varve.dev/varve/engine/store"
)

// encodeTier returns "" for Forever, for compatibility with older lists.
func encodeTier(r store.Tier) string {
	if r == store.Forever {
		return ""
	}
	return r.String()
}

func decodeTier(text string) (store.Tier, error) {
	if text == "" {
		return store.Forever, nil
	}
	for r := store.Keep1d; r.Valid(); r++ {
		if r.String() == text {
			return r, nil
		}
	}
	return store.Forever, fmt.Errorf("tier %q is unknown", text)
}

// encodeLevels encodes each level as WIDTH or WIDTH/TIER.
func encodeLevels(levels [store.MaxLevels]store.Level) (out []string) {
	for _, l := range levels {
		if l == 0 {
			break
		}
		text := encodeDuration(l.Every())
		if tier := encodeTier(l.Tier()); tier != "" {
			text += "/" + tier
		}
		out = append(out, text)
	}
	return out
}

func decodeLevels(texts []string) (out [store.MaxLevels]store.Level, err error) {
	if len(texts) > len(out) {
		return out, fmt.Errorf("there are %d rollups, at most %d are allowed", len(texts), len(out))
	}
	for i, text := range texts {
		width, keep, _ := strings.Cut(text, "/")
		every, err := decodeDuration("rollup", width)
		if err != nil {
			return out, err
		}
		tier, err := decodeTier(keep)
		if err != nil {
			return out, err
		}
		out[i] = store.LevelOf(every, tier)
		if !out[i].Valid() || out[i].Every() != every || i > 0 && every <= out[i-1].Every() {
			return out, fmt.Errorf("rollup %q is too fine or not sorted", text)
		}
	}
	return out, nil
}
