//go:build race

package handover

// perProfile is how many schedules of each profile are explored: fewer than without the
// race detector, which finds nothing in one goroutine, and takes its time.
const perProfile = 150
