package standalone

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/policy"
	"varve.dev/varve/groups/manifest"
	"varve.dev/varve/groups/ownership"
)

// Policies are the ArchivePolicies of a file. The last valid content of the file applies. A nil *Policies has none.
type Policies struct {
	path    string
	log     *slog.Logger
	invalid prometheus.Gauge

	mu                sync.Mutex
	enforced, planned *policy.Set
	problem           string // why the current content of the file does not apply, or ""
}

// OpenPolicies reads a file of policies, which must be valid now.
func OpenPolicies(path string, reg prometheus.Registerer, log *slog.Logger) (*Policies, error) {
	list, err := manifest.LoadPolicies(path)
	if err != nil {
		return nil, err
	}
	p := &Policies{path: path, log: log, invalid: promauto.With(reg).NewGauge(prometheus.GaugeOpts{
		Namespace: "varve", Subsystem: "policies", Name: "invalid",
		Help: "1 while the file of ArchivePolicies is missing or invalid, so that its last valid content applies; otherwise 0.",
	})}
	p.use(list)
	return p, nil
}

// use makes policies the current ones.
func (p *Policies) use(list []v1alpha1.ArchivePolicy) {
	enforced, planned := ownership.Alone(list)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enforced, p.planned, p.problem = enforced, planned, ""
}

// Current returns the policies that apply now. They are always known.
func (p *Policies) Current() (policies *policy.Set, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.enforced, true
}

// Problem returns why the current content of the file does not apply, or "". It may name PVs.
func (p *Policies) Problem() string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.problem
}

// Notices returns what everybody may know about the file: it names no PV.
func (p *Policies) Notices() []string {
	if p.Problem() == "" {
		return nil
	}
	return []string{"the file of ArchivePolicies is missing or invalid; its last valid content applies; see the log"}
}

// sets returns the policies that apply, and all policies.
func (p *Policies) sets() (enforced, planned *policy.Set) {
	if p == nil {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.enforced, p.planned
}

// run reads the file after each change, and calls changed after each valid one, until ctx ends.
func (p *Policies) run(ctx context.Context, changed func()) {
	manifest.WatchPolicies(ctx, p.path, func(list []v1alpha1.ArchivePolicy, err error) {
		if err != nil {
			p.log.Error("the file of ArchivePolicies is invalid; its last valid content applies", "err", err)
			p.invalid.Set(1)
			p.mu.Lock()
			p.problem = fmt.Sprintf("the file of ArchivePolicies is invalid; its last valid content applies: %v", err)
			p.mu.Unlock()
			return
		}
		p.invalid.Set(0)
		p.use(list)
		p.log.Info("ArchivePolicies applied", "policies", len(list))
		changed()
	})
}
