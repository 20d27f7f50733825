package soak

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"time"

	"varve.dev/varve/test/archive"
)

// Account compares all samples of a PV with the ledger, and keeps a bit per step. Its answers
// may come in any number of parts that do not overlap.
type Account struct {
	sent []Sent
	seen []uint64 // a bit per step since the first entry of the ledger
	// clockSteps is true if the IOC's clock is changed. The times of its samples then say
	// nothing.
	clockSteps bool

	duplicated, misdated int
	examples             []string
}

// maxExamples bounds the number of problems that an Account describes.
const maxExamples = 5

// NewAccount returns the account of a PV with the given entries of the ledger, of which there
// must be two. clockSteps is true if the clock of the PV's IOC is changed.
func NewAccount(sent []Sent, clockSteps bool) *Account {
	a := &Account{sent: sent, clockSteps: clockSteps}
	a.seen = make([]uint64, (a.steps()+63)/64)
	return a
}

// steps is the number of steps in the account.
func (a *Account) steps() int { return a.sent[len(a.sent)-1].Step - a.sent[0].Step + 1 }

// Add adds samples of the PV. It ignores steps before the first and after the last entry of the
// ledger.
func (a *Account) Add(events []archive.Event) {
	for _, e := range events {
		n := e.Number() - a.sent[0].Step
		if n < 0 || n >= a.steps() {
			continue
		}
		if a.seen[n/64]>>(n%64)&1 != 0 {
			a.duplicated++
			note(&a.examples, "step %d is duplicated: %v", e.Number(), e)
		}
		a.seen[n/64] |= 1 << (n % 64)
		if before, after := a.around(e.Number()); !a.clockSteps && (e.Time < before.Stamp || e.Time > after.Stamp) {
			a.misdated++
			note(&a.examples, "step %d has the time of another step: %v", e.Number(), e)
		}
	}
}

// note adds a description unless there are enough.
func note(examples *[]string, format string, args ...any) {
	if len(*examples) < maxExamples {
		*examples = append(*examples, fmt.Sprintf(format, args...))
	}
}

// around returns the entries of the ledger around a step.
func (a *Account) around(step int) (before, after Sent) {
	i := sort.Search(len(a.sent), func(i int) bool { return a.sent[i].Step >= step })
	if a.sent[i].Step == step {
		return a.sent[i], a.sent[i]
	}
	return a.sent[i-1], a.sent[i]
}

// timeOf returns the time of a step. It assumes that steps between two entries of the ledger are
// evenly spaced. It uses this machine's clock if the IOC's clock is changed.
func (a *Account) timeOf(step int) time.Time {
	before, after := a.around(step)
	from, to := before.Stamp, after.Stamp
	if a.clockSteps {
		from, to = before.Seen, after.Seen
	}
	if after.Step > before.Step {
		from += (to - from) * int64(step-before.Step) / int64(after.Step-before.Step)
	}
	return time.Unix(0, from)
}

// Evidence is what explains that samples of a PV are missing.
type Evidence struct {
	// Marks are the marks of the PV in the archive.
	Marks []archive.Mark
	// Destroyed are the times of the samples that the test destroyed.
	Destroyed []archive.Span
	// Refused are the times for which the archive refused to answer, because of destroyed samples.
	Refused []archive.Span
}

// slack is the allowed difference between the time of a step and the time of its arrival. With
// clock steps, the ledger knows the time of a step less exactly.
func (a *Account) slack() time.Duration {
	if a.clockSteps {
		return time.Second
	}
	return 300 * time.Millisecond
}

// Verdict is the result for one PV.
type Verdict struct {
	// PV is the name of the PV, and Sent is the number of steps that its IOC sent.
	PV   string
	Sent int
	// Lost is the number of steps that are missing and that the test did not destroy.
	// Destroyed is the number of missing steps that it did destroy, and of steps next to them
	// that cannot be read for this reason.
	Lost, Destroyed int
	// Unmarked is the number of missing steps that neither a mark nor a refusal explains.
	Unmarked int
	// Duplicated is the number of samples that repeat a step. Misdated is the number of samples
	// with the time of another step.
	Duplicated, Misdated int
	// Examples describes some of the problems.
	Examples []string
}

// Judge returns the verdict.
func (a *Account) Judge(pv string, e Evidence) Verdict {
	v := Verdict{PV: pv, Sent: a.steps(), Duplicated: a.duplicated, Misdated: a.misdated, Examples: slices.Clone(a.examples)}
	losses := append(archive.Losses(e.Marks), e.Refused...)
	var first, last, unmarked int // of the present run of missing steps
	end := func() {
		if first > 0 {
			note(&v.Examples, "steps %d to %d are missing, from %s to %s; %d of them are not explained",
				first, last, clock(a.timeOf(first)), clock(a.timeOf(last)), unmarked)
		}
		first, unmarked = 0, 0
	}
	for _, step := range a.missing() {
		if first > 0 && step != last+1 {
			end()
		}
		if first == 0 {
			first = step
		}
		last = step
		t := a.timeOf(step)
		if archive.Within(e.Destroyed, t, a.slack()) || archive.Within(e.Refused, t, 0) {
			v.Destroyed++
		} else {
			v.Lost++
		}
		if !archive.Within(losses, t, a.slack()) {
			v.Unmarked++
			unmarked++
		}
	}
	end()
	return v
}

// Whole reports whether every step is in the account once, with its time.
func (a *Account) Whole() bool { return len(a.missing()) == 0 && a.duplicated+a.misdated == 0 }

// missing returns the numbers of the missing steps.
func (a *Account) missing() (steps []int) {
	for i, word := range a.seen {
		for absent := ^word; absent != 0; absent &= absent - 1 {
			if n := i*64 + bits.TrailingZeros64(absent); n < a.steps() {
				steps = append(steps, a.sent[0].Step+n)
			}
		}
	}
	return steps
}

func clock(t time.Time) string { return t.Format("15:04:05.000") }

// Failed reports whether the archive broke its promise. complete is true if the archive must not
// lose any step of the PV; otherwise it must mark each step that it loses.
func (v *Verdict) Failed(complete bool) bool {
	return v.Duplicated+v.Misdated+v.Unmarked > 0 || complete && v.Lost > 0
}

// Total is the sum of the verdicts of several PVs.
type Total struct {
	// PVs is the number of PVs, and Failed is the number of those whose verdict is a failure.
	PVs, Failed int
	Verdict
}

// Add adds a verdict.
func (t *Total) Add(v *Verdict, complete bool) {
	t.PVs++
	if v.Failed(complete) {
		t.Failed++
	}
	t.Sent += v.Sent
	t.Lost += v.Lost
	t.Destroyed += v.Destroyed
	t.Unmarked += v.Unmarked
	t.Duplicated += v.Duplicated
	t.Misdated += v.Misdated
}

// String describes the sum.
func (t *Total) String() string {
	return fmt.Sprintf("%d PVs: %d steps sent, %d lost, %d destroyed by the test, %d missing without a mark, %d duplicated, %d with a wrong time",
		t.PVs, t.Sent, t.Lost, t.Destroyed, t.Unmarked, t.Duplicated, t.Misdated)
}
