package clienttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/test/testclock"
)

// Checked is a client that checks channels without updates every minute, with the channel PV of a
// scripted server.
type Checked struct {
	Sink     *Recorder
	Registry *prometheus.Registry
	prefix   string // of the metrics
}

// WithChecks calls f with a client. start starts it with the settings that it sets in a
// configuration. prefix is that of the client's metrics.
func WithChecks(t *testing.T, prefix string, start func(t *testing.T, set func(*client.Config)) capture.Source, f func(t *testing.T, c *Checked)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &Checked{Sink: &Recorder{}, Registry: prometheus.NewRegistry(), prefix: prefix}
		source := start(t, func(config *client.Config) { config.Registerer, config.CheckEvery = c.Registry, time.Minute })
		source.Subscribe("PV", capture.SubscribeOptions{}, c.Sink)
		testclock.Advance(time.Second)
		f(t, c)
	})
}

// Results returns the counts of checks by result.
func (c *Checked) Results(t *testing.T) string {
	t.Helper()
	m := Gather(t, c.Registry)
	var out []string
	for _, r := range []string{"same", "changed", "healed", "failed", "unanswered"} {
		if n := m[c.prefix+"subscription_checks_total "+r]; n > 0 {
			out = append(out, fmt.Sprintf("%s %v", r, n))
		}
	}
	return strings.Join(out, ", ")
}

// CheckConstant checks that the checks of a constant channel have no effect on its sink. asked returns
// how many checks have reached the server. change makes the server change what is no change of the
// value, such as the time.
func (c *Checked) CheckConstant(t *testing.T, change func(), asked func() int) {
	t.Helper()
	before := len(c.Sink.Calls())
	change()
	testclock.Advance(10 * time.Minute)
	if calls := c.Sink.Calls(); len(calls) != before || len(c.Sink.Words()) != 1 {
		t.Errorf("the sink got %v and %d samples", calls, len(c.Sink.Words()))
	}
	n := asked()
	if got := c.Results(t); n < 5 || n > 10 || got != fmt.Sprintf("same %d", n) {
		t.Errorf("%d checks in 10 minutes, results: %s", n, got)
	}
}

// CheckDead checks a channel whose value change changes, although the server sends no update. The sink
// must get the samples want, and a possible loss. update then sends an update of the new subscription,
// so that the channel counts as healed. If update is nil, the new subscription is dead, too, and change
// is called again.
func (c *Checked) CheckDead(t *testing.T, change func(), want []float64, update func()) {
	t.Helper()
	change()
	testclock.Advance(2*time.Minute + 5*time.Second)
	if got := c.Sink.Floats(); !slices.Equal(got, want) || len(c.Sink.Suspects()) != 1 {
		t.Fatalf("samples %v, calls %v", got, c.Sink.Calls())
	}
	if got := c.Results(t); !strings.HasSuffix(got, "changed 1") {
		t.Errorf("results: %s", got)
	}
	if update != nil {
		update()
		testclock.Advance(time.Second)
		if got := c.Results(t); !strings.HasSuffix(got, "changed 1, healed 1") {
			t.Errorf("results: %s", got)
		}
		return
	}
	change()
	testclock.Advance(3 * time.Minute)
	if got := c.Results(t); !strings.Contains(got, "changed 2") || strings.Contains(got, "healed") {
		t.Errorf("results: %s", got)
	}
}

// CheckUnanswered checks that a channel is lost for a cause, and found again, if its server does not
// answer its check. The server must answer other requests.
func (c *Checked) CheckUnanswered(t *testing.T, cause error) {
	t.Helper()
	testclock.Advance(3 * time.Minute)
	if c.Sink.Connects < 2 || c.Sink.Cause == nil || !strings.Contains(c.Sink.Cause.Error(), cause.Error()) {
		t.Errorf("the sink got %v", c.Sink.Calls())
	}
	if got := c.Results(t); !strings.HasPrefix(got, "unanswered") {
		t.Errorf("results: %s", got)
	}
}
