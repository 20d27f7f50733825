package protocols

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// fixture is an IOC with counting PVs, and an archiver that archives some of them over Channel
// Access and some over pvAccess.
type fixture struct {
	*epics.IOC
	*program.Archiver
	pvs   []string
	begin time.Time // the archive must account for all steps from this time on
}

// prefixes are the prefixes of PV names by provider.
var prefixes = map[string]string{"CA": "F:CA:", "PVA": "F:PVA:"}

// counting returns the names of ca PVs over Channel Access and pva PVs over pvAccess.
func counting(ca, pva int) []string {
	return append(archive.Names(prefixes["CA"], ca), archive.Names(prefixes["PVA"], pva)...)
}

// some returns at most 200 PVs, from both providers. The tests check only these.
func (p *fixture) some() (pvs []string) {
	const most = 200
	for i := 0; i < len(p.pvs); i += (len(p.pvs) + most - 1) / most {
		pvs = append(pvs, p.pvs[i])
	}
	return pvs
}

// startArchiver starts the archiver with additional environment variables. It does not wait for
// connections.
func (p *fixture) startArchiver(t *testing.T, env ...string) {
	t.Helper()
	groups := t.TempDir()
	for provider, prefix := range prefixes {
		of := slices.DeleteFunc(slices.Clone(p.pvs), func(pv string) bool { return !strings.HasPrefix(pv, prefix) })
		const most = 1000 // channels per group
		for part := range slices.Chunk(of, most) {
			name := strings.ToLower(strings.ReplaceAll(part[0], ":", "-"))
			program.WriteGroup(t, groups, name, program.Group(name, "provider: "+provider, part...))
		}
	}
	p.Archiver = program.Standalone(t, append(p.ClientEnv(), env...), "-f", groups, "--data", t.TempDir(), "--checkpoint", "4s")
}

// warmUp waits until all PVs have samples. It then waits until the archiver has measured the
// usual interval between updates.
func (p *fixture) warmUp() {
	p.AwaitSamples(len(p.pvs))
	p.GoOn(12 * time.Second)
	p.begin = time.Now()
	p.GoOn(time.Second)
}

// awaitLossMarks waits until every suspected loss is marked. The archiver delays such a mark
// in order to combine it with further losses.
func (p *fixture) awaitLossMarks(t *testing.T) {
	t.Helper()
	p.GoOn(2 * time.Second)
	program.Eventually(t, "every suspected loss is marked", func() bool {
		channels := p.Channels()
		for _, pv := range p.some() {
			if channels[pv].Suspected > 0 && !slices.ContainsFunc(p.marks(pv), isLoss) {
				return false
			}
		}
		return true
	})
}

// marks returns all marks of a PV. A mark may begin before the test, because updates that arrive late after
// a stall make the archiver doubt its clock, and its marks are wider then.
func (p *fixture) marks(pv string) []archive.Mark { return p.Marks(pv, p.begin.Add(-time.Hour)) }

func isLoss(m archive.Mark) bool { return m.Kind == "lost" }

// account checks the PVs of some. It fails the test unless each step is archived or lies within
// a mark, and unless the state of every PV with lost steps counts a loss. It returns the number
// of lost steps by provider.
func (p *fixture) account(t *testing.T) map[string]int {
	t.Helper()
	all := p.ReadAll(p.some(), p.begin)
	states := p.Channels()
	lost, failures := map[string]int{}, 0
	for _, pv := range p.some() {
		holes, err := archive.Holes(all[pv])
		if err != nil || len(all[pv]) < 20 {
			t.Errorf("%s: %d samples: %v", pv, len(all[pv]), err)
			continue
		}
		if len(holes) == 0 {
			continue
		}
		marks := p.marks(pv)
		for _, h := range holes {
			lost[strings.Split(pv, ":")[1]] += h.Missing()
			if unmarked := h.Unmarked(marks); len(unmarked) > 0 {
				t.Errorf("%s: %v; the step of %s is in no mark: %+v", pv, h, unmarked[0].Format("15:04:05.000"), marks)
			}
		}
		if c := states[pv]; c.Suspected == 0 && c.LostConnections == 0 && c.Dropped["overrun"] == 0 {
			t.Errorf("%s has lost %d steps, but its state counts no loss: %+v", pv, holes[0].Missing(), c)
		}
		if failures += map[bool]int{true: 1}[t.Failed()]; failures > 3 {
			t.FailNow() // the other PVs have the same problem
		}
	}
	t.Logf("lost steps: %v; the archiver's peak memory was %d MiB", lost, p.peak()>>20)
	return lost
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak returns the archiver's peak memory in bytes. It returns 0 where the kernel does not report
// it.
func (p *fixture) peak() int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	m := highWater.FindSubmatch(status)
	if err != nil || m == nil {
		return 0
	}
	kB, _ := strconv.Atoi(string(m[1]))
	return kB << 10
}

// checkMemory fails the test if the archiver's peak memory was above the limit.
func (p *fixture) checkMemory(t *testing.T) {
	t.Helper()
	const most = 400 << 20
	if got := p.peak(); got > most {
		t.Errorf("the archiver's peak memory was %d MiB, more than %d", got>>20, most>>20)
	}
}
