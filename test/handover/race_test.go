//go:build race

package handover

// perProfile is the number of schedules that the test explores for each profile. It is lower
// with the race detector, which is slow and finds no races in a single goroutine.
const perProfile = 150
