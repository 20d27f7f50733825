package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

func value(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.Counter.GetValue()
}

// TestLinesThatDoNotFitAreCounted checks that Add never waits, that reads push out neither refusals nor lines
// about hidden PVs, that refusals do not push out the latter, and that every entry is written or counted.
func TestLinesThatDoNotFitAreCounted(t *testing.T) {
	var out bytes.Buffer
	l := New(&out, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	for range maxQueue + 10 {
		l.Add(&Entry{Decision: Allowed})
		l.Add(&Entry{Decision: Refused, Reason: "no token"})
	}
	l.Add(&Entry{Decision: Hidden, User: "eve"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.Run(ctx)
	l.Add(&Entry{Decision: Refused}) // after the end
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var first Entry
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil || first.User != "eve" {
		t.Errorf("the first line is %s: %v", lines[0], err)
	}
	if len(lines) != 2*maxQueue+1 || value(t, l.written) != 2*maxQueue+1 {
		t.Errorf("%d lines are written, and %v are counted", len(lines), value(t, l.written))
	}
	if n := value(t, l.dropped.WithLabelValues("full")); n != 21 {
		t.Errorf("%v lines are counted as dropped, want 21", n)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestAFullDiskIsReportedOnce checks that failed writes are counted, and logged once.
func TestAFullDiskIsReportedOnce(t *testing.T) {
	var logs bytes.Buffer
	l := New(fullDisk{}, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(&logs, nil)))
	l.Add(&Entry{Decision: Allowed})
	l.Add(&Entry{Decision: Allowed})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.Run(ctx)
	if n := value(t, l.dropped.WithLabelValues("failed")); n != 2 || strings.Count(logs.String(), "no space left") != 1 {
		t.Errorf("%v lines are lost, and the log is %s", n, logs.String())
	}
}
