package capture_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/ca"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/pva"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/epics"
)

// TestDriftWithinTheDeadbandOfARealRecordIsNoLoss captures, from a real IOC, a record whose value
// changes within its deadband. The values of the checks must be stored, and nothing must be marked as
// lost.
func TestDriftWithinTheDeadbandOfARealRecordIsNoLoss(t *testing.T) {
	ioc := epics.StartIOC(t, clienttest.Quiet)
	t.Run("ca", func(t *testing.T) {
		config := ca.Config{Config: clienttest.ByUDP(ioc.CAAddr())}
		config.CheckEvery = time.Second
		captureDrift(t, clienttest.Start(t, ca.New, config), capture.CA)
	})
	t.Run("pva", func(t *testing.T) {
		config := pva.Config{Config: clienttest.ByTCP(ioc.PVAAddr())}
		config.CheckEvery = time.Second
		captureDrift(t, clienttest.Start(t, pva.New, config), capture.PVA)
	})
}

func captureDrift(t *testing.T, source capture.Source, p capture.Provider) {
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
	sources[p] = source
	m := capture.NewManager(capture.Config{
		Sources: sources, ShardJournal: func(int) *journal.ShardJournal { return j }, Marks: &marks,
		Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	defer m.Close()
	m.Apply(capture.Assignment{0: {{PV: "T:DRIFT", Group: "lab/drift", Settings: &capture.Settings{Provider: p}}}})
	clienttest.Await(t, "three values within the deadband", func() bool { return m.Totals().WithinDeadband >= 3 })
	if tot := m.Totals(); tot.Suspected > 0 || tot.Received < 4 {
		t.Errorf("the channel has the totals %+v", tot)
	}
	if lost := marks.all(); len(lost) > 0 {
		t.Errorf("marked as lost: %+v", lost)
	}
}

// keepNothing is a journal.Store that acknowledges everything.
type keepNothing struct{}

func (keepNothing) Claims(context.Context, int) ([]store.Claim, error) { return nil, nil }
func (keepNothing) PutClaim(context.Context, store.Claim) error        { return nil }
func (keepNothing) PutJournal(context.Context, store.JournalRow) error { return nil }

// lossMarks keeps the marks of losses.
type lossMarks struct {
	mu   sync.Mutex
	lost []sample.Mark
}

// Add implements capture.Marks.
func (l *lossMarks) Add(_ string, m sample.Mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.Kind == sample.Lost {
		l.lost = append(l.lost, m)
	}
}

// Metadata implements capture.Marks.
func (*lossMarks) Metadata(string, int64, *sample.Metadata) {}

func (l *lossMarks) all() []sample.Mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}
