package native

import (
	"context"
	"time"
)

// givenUp describes the raw samples that the disk guard deleted early to free disk space.
type givenUp struct {
	Before string `json:"before"` // samples older than this time are deleted
	At     string `json:"at"`     // time of the deletion
	// Size is the size of the archive at that time, and Limit the allowed size, in bytes.
	Size  int64 `json:"size"`
	Limit int64 `json:"limit"`
}

// cutoffTimeout bounds the time for reading the deletion cutoff, because the states of
// channels must not wait for the store.
const cutoffTimeout = time.Second

// givenUp returns a description of the samples that the disk guard deleted early. It returns
// nil if the disk guard deleted none, or if the store does not answer in time.
func (h *Handler) givenUp(ctx context.Context) *givenUp {
	if h.Reader == nil || h.Reader.Store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cutoffTimeout)
	defer cancel()
	c, found, err := h.Reader.Store.Cutoff(ctx)
	if err != nil || !found {
		return nil
	}
	return &givenUp{Before: clock(c.Before), At: clock(c.At), Size: c.Size, Limit: c.Limit}
}
