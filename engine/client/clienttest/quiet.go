package clienttest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Quiet has records without updates that are processed ten times per second: one has a constant value,
// the other a value that changes within its deadband.
const Quiet = `
record(calc, "T:CONST") { field(CALC, "5") field(SCAN, ".1 second") }
record(calc, "T:DRIFT") { field(CALC, "VAL+1") field(SCAN, ".1 second") field(MDEL, "1000000") field(ADEL, "1000000") }
`

// CheckQuiet checks, with an IOC that has the records of Quiet, how a client checks channels without
// updates. The client must check them every second. prefix is that of its metrics. The checks of the
// constant record have no effect. Those of the other record deliver its value.
func CheckQuiet(t *testing.T, c capture.Source, g prometheus.Gatherer, prefix string) {
	t.Helper()
	results := func(result string) float64 { return Gather(t, g)[prefix+"subscription_checks_total "+result] }
	constant, drift := &Recorder{}, &Recorder{}
	c.Subscribe("T:CONST", capture.SubscribeOptions{}, constant)
	Await(t, "five checks of the constant record", func() bool { return results("same") >= 5 })
	if results("changed")+results("failed")+results("unanswered") > 0 || constant.Connects != 1 || len(constant.Suspects()) > 0 {
		t.Errorf("the constant channel got %v; metrics %v", constant.Calls(), Gather(t, g))
	}
	before := len(constant.Words())
	c.Subscribe("T:DRIFT", capture.SubscribeOptions{}, drift)
	Await(t, "two checks that find another value", func() bool { return results("changed") >= 2 })
	words := drift.Floats()
	if len(words) < 3 || words[0] >= words[len(words)-1] || results("healed") > 0 || len(drift.Suspects()) < 2 {
		t.Errorf("the other channel got %v and %v; metrics %v", words, drift.Calls(), Gather(t, g))
	}
	if n := len(constant.Words()); n != before {
		t.Errorf("the constant channel got %d samples, then %d", before, n)
	}
}

// CheckDeadband captures, from an IOC that has the records of Quiet, the record whose value changes
// within its deadband. The client must check it every second. The values of the checks must be stored,
// and nothing must be marked as lost.
func CheckDeadband(t *testing.T, c capture.Source, p capture.Provider) {
	t.Helper()
	mem := journal.NewMemory(1 << 20)
	j := journal.NewShardJournal(0, store.NewWriter(), &journal.Config{
		Store: keepNothing{}, Flush: time.Second, RowBytes: 4 << 10, Memory: mem, Metrics: journal.NewMetrics(prometheus.NewRegistry(), mem),
		Log: slog.New(slog.DiscardHandler),
	})
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { j.Run(ctx, ctx) })
	defer func() { end(); running.Wait() }()
	var marks lossMarks
	var sources capture.Sources
	sources[p] = c
	m := capture.NewManager(capture.Config{
		Sources: sources, ShardJournal: func(int) *journal.ShardJournal { return j }, Marks: &marks,
		Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	m.Apply(capture.Assignment{0: {{PV: "T:DRIFT", Group: "lab/drift", Settings: &capture.Settings{Provider: p}}}})
	Await(t, "three values within the deadband", func() bool { return m.Totals().WithinDeadband >= 3 })
	if tot := m.Totals(); tot.Suspected > 0 || tot.Received < 4 {
		t.Errorf("the drifting channel got %+v", tot)
	}
	marks.mu.Lock()
	if marks.n > 0 {
		t.Errorf("%d losses are marked", marks.n)
	}
	marks.mu.Unlock()
	m.Close()
}

// keepNothing is a journal.Store that acknowledges everything.
type keepNothing struct{}

func (keepNothing) Claims(context.Context, int) ([]store.Claim, error) { return nil, nil }
func (keepNothing) PutClaim(context.Context, store.Claim) error        { return nil }
func (keepNothing) PutJournal(context.Context, store.JournalRow) error { return nil }

// lossMarks counts the marks of losses.
type lossMarks struct {
	mu sync.Mutex
	n  int
}

// Add implements capture.Marks.
func (l *lossMarks) Add(_ string, m sample.Mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.Kind == sample.Lost {
		l.n++
	}
}

// Metadata implements capture.Marks.
func (*lossMarks) Metadata(string, int64, *sample.Metadata) {}
