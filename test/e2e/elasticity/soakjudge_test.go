package elasticity

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/e2e/lab"
	"varve.dev/varve/test/soak"
)

// chunk is the time that one read of the final account covers.
const chunk = 10 * time.Minute

// markTime is the time within which the archive marks losses: a writer is declared dead after
// 15 s, and the mark is written at the next checkpoint of a leader.
const markTime = 2 * time.Minute

// judge accounts for every sample that the IOCs sent, and fails the spec if the archive broke a
// promise.
func (t *trial) judge(ctx SpecContext, repeat string) {
	GinkgoHelper()
	t.reader.Store(t.Client)
	var broken []string
	total := soak.Total{}
	for _, p := range t.parts {
		sum := soak.Total{}
		for _, v := range t.verdicts(ctx, p) {
			sum.Add(&v, !p.incomplete)
			total.Add(&v, !p.incomplete)
			if v.Failed(!p.incomplete) {
				broken = append(broken, fmt.Sprintf("%s: %s", v.PV, strings.Join(v.Examples, "; ")))
			}
		}
		lab.Figure("soak: group "+p.group, "%v", &sum)
	}
	t.publish(&total)
	for _, text := range t.seen.failures {
		lab.Figure("failed", "%s", text)
	}
	lab.Figure("soak: reads during the test", "%d, of which %d failed and %d were wrong; the slowest took %.1f s",
		t.seen.reads, t.seen.failed, len(t.seen.wrong), t.seen.slowest.Seconds())
	lab.Figure("soak: events", "\n%s", t.history())
	story := fmt.Sprintf("to repeat the order of the faults: %s\n%v\n%s", repeat, &total, t.history())
	Expect(t.seen.wrong).To(BeEmpty(), "wrong answers during the test; %s", story)
	Expect(broken).To(BeEmpty(), "PVs whose samples are lost, duplicated or wrong; %s", story)
	Expect(t.seen.reads).To(BeNumerically(">", t.seen.failed), "every read failed; %s", story)
}

// publish adds the total to the table of results.
func (t *trial) publish(total *soak.Total) {
	GinkgoHelper()
	row{
		fault: fmt.Sprintf("soak, %v, seed %d", soakTime(), t.seed), redundancy: t.redundancy,
		rate: float64(total.Sent-total.Lost-total.Destroyed) / t.over.Sub(t.begun).Seconds(),
		lost: total.Lost + total.Destroyed, duplicated: total.Duplicated, unmarked: total.Unmarked, observed: t.seen,
	}.publish()
}

// verdicts reads all samples of a part.
func (t *trial) verdicts(ctx SpecContext, p *part) (all []soak.Verdict) {
	GinkgoHelper()
	var g errgroup.Group
	var mu sync.Mutex
	g.SetLimit(readers)
	for _, pv := range p.pvs {
		g.Go(func() error {
			v, err := t.verdict(ctx, p, pv)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, v)
			return err
		})
	}
	Expect(g.Wait()).To(Succeed(), "reading all samples")
	return all
}

// verdict reads all samples of a PV that the ledger covers. Marks may appear a little later than
// the samples that they explain.
func (t *trial) verdict(ctx SpecContext, p *part, pv string) (soak.Verdict, error) {
	sent := t.ledger.Sent(pv, time.Now().Add(-durable))
	account := soak.NewAccount(sent, p.clockSteps)
	evidence := soak.Evidence{Destroyed: t.destroyed[pv]}
	read := t.retried(ctx, pv, &evidence)
	from, to := p.everything(sent)
	for at := from; at.Before(to); at = at.Add(chunk) {
		end := at.Add(chunk)
		if end.After(to) {
			end = to
		}
		if err := account.Collect(read, &evidence, at, end); err != nil {
			return soak.Verdict{PV: pv}, err
		}
	}
	if account.Whole() {
		return account.Judge(pv, evidence), nil
	}
	for deadline := time.Now().Add(markTime); ; {
		marks, err := t.Marks(pv, t.begun.Add(-clockRange))
		if err == nil {
			evidence.Marks = marks
			v := account.Judge(pv, evidence)
			if v.Unmarked == 0 || time.Now().After(deadline) {
				v.Examples = append(v.Examples, fmt.Sprintf("the marks are %+v", marks))
				return v, nil
			}
		} else if time.Now().After(deadline) {
			return soak.Verdict{PV: pv}, err
		}
		if err := sleep(ctx, 5*time.Second); err != nil {
			return soak.Verdict{PV: pv}, err
		}
	}
}

// sleep waits for d, or returns the error of ctx when it ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// reread is how often a read of a PV with corrupted blocks is repeated before it counts as refused.
// It can also fail for other reasons.
const reread = 3

// retried returns a function that reads a window of a PV. It repeats reads that fail.
func (t *trial) retried(ctx SpecContext, pv string, e *soak.Evidence) func(from, to time.Time) ([]archive.Event, error) {
	return func(from, to time.Time) ([]archive.Event, error) {
		deadline := time.Now().Add(lab.Patience)
		for tries := 1; ; tries++ {
			events, err := t.Raw(pv, from, to)
			if err == nil || len(e.Destroyed) > 0 && tries == reread || time.Now().After(deadline) {
				return events, err
			}
			if err := sleep(ctx, time.Second); err != nil {
				return nil, err
			}
		}
	}
}
