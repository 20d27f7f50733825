package native

import (
	"context"
	"time"
)

// givenUp says that raw samples were given up for want of room.
type givenUp struct {
	Before string `json:"before"` // those from before this time
	At     string `json:"at"`     // when
	// Size is what the archive took then, and Limit what it might take, in bytes.
	Size  int64 `json:"size"`
	Limit int64 `json:"limit"`
}

// cutoffTimeout is for how long the store is asked: what engines tell should not wait for it.
const cutoffTimeout = time.Second

// givenUp returns what was given up; nil if nothing was, or the store does not say.
func (h *Handler) givenUp(ctx context.Context) *givenUp {
	if h.Reader == nil || h.Reader.Store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cutoffTimeout)
	defer cancel()
	f, found, err := h.Reader.Store.Cutoff(ctx)
	if err != nil || !found {
		return nil
	}
	return &givenUp{Before: clock(f.Before), At: clock(f.At), Size: f.Size, Limit: f.Limit}
}
