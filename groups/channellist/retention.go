package channellist

import (
	"fmt"
	"strings"

	"varve.dev/varve/engine/store"
)

// encodeTier leaves out forever, as lists did before there was anything else.
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
	return store.Forever, fmt.Errorf("a tier %q is unknown", text)
}

// encodeLevels writes a level as its width, and its tier behind a slash.
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
		return out, fmt.Errorf("there are %d rollups, more than %d", len(texts), len(out))
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
			return out, fmt.Errorf("a rollup of %q is too fine, or not after the one before it", text)
		}
	}
	return out, nil
}
