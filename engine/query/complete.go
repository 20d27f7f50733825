package query

import (
	"slices"
	"time"

	"varve.dev/varve/engine/store"
)

// behind is the age of Claim.Saved from which a writer counts as one with samples that the store does
// not have. A writer renews its claim every 5 s.
const behind = 30 * time.Second

// completeUntil returns the time up to which the unsealed samples of the PV in a shard are in
// Runs or in acknowledged rows, given the claims of the shard that were read after Runs. now is the
// present time in ns since 1970. completeUntil returns Latest if no sample is missing. The package
// comment has the argument.
func (h *Held) completeUntil(shard int, claims []store.Claim, now int64) int64 {
	captured := slices.Contains(h.Shards, shard)
	until, open := int64(Latest), false
	for _, c := range claims {
		if c.Closed {
			continue
		}
		open = true
		if slices.Contains(h.Covers, c.Writer) {
			continue
		}
		flushed := h.flushedUntil(&c)
		// The PV may have left the shard a moment ago, even if nobody says so: a writer that is behind
		// may still hold samples of it.
		if captured || h.Unanswered || c.Saved != 0 && flushed < now-int64(behind) {
			until = min(until, flushed)
		}
	}
	if captured && h.Unanswered && !open {
		until = savedUntil(claims...) // the engine that did not answer has no claim yet
	}
	if h.Connected != 0 && h.Connected <= until {
		return Latest // an engine that answered has received all later samples, too
	}
	return until
}

// confirmedUntil returns the time up to which no other shard may have samples of the PV.
func (h *Held) confirmedUntil() int64 {
	if h.Confirmed == 0 {
		return Latest
	}
	return h.Confirmed
}

// flushedUntil returns the time up to which all samples of an uncovered writer are in Runs or in
// acknowledged rows. The engine may have said so after it wrote the claim.
func (h *Held) flushedUntil(c *store.Claim) int64 {
	until := savedUntil(*c)
	for _, f := range h.Flushed {
		if f.Writer == c.Writer {
			until = max(until, f.Until)
		}
	}
	return until
}

// savedUntil returns the latest time up to which a claim says that all its samples are in
// acknowledged rows. It returns Earliest if there is no claim.
func savedUntil(claims ...store.Claim) int64 {
	until := int64(Earliest)
	for _, c := range claims {
		saved := c.Saved
		if saved == 0 { // the claim of an earlier version
			saved = c.Since
		}
		until = max(until, saved)
	}
	return until
}
