//go:build !race

package handover

// perProfile is the number of schedules that the test explores for each profile.
const perProfile = 1000
