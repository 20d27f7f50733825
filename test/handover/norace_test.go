//go:build !race

package handover

// perProfile is how many schedules of each profile are explored.
const perProfile = 1000
