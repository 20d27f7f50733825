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

// plant is an IOC whose PVs count, and an archiver that has some of them over Channel
// Access and some over pvAccess.
type plant struct {
	*epics.IOC
	*program.Archiver
	pvs   []string
	begin time.Time // from when on the steps of PVs must be there
}

// prefixes of PVs, by provider.
var prefixes = map[string]string{"CA": "F:CA:", "PVA": "F:PVA:"}

// counting returns names of PVs of each provider.
func counting(ca, pva int) []string {
	return append(archive.Names(prefixes["CA"], ca), archive.Names(prefixes["PVA"], pva)...)
}

// some returns some of the PVs, of both providers: those that are looked at.
func (p *plant) some() (pvs []string) {
	const most = 200
	for i := 0; i < len(p.pvs); i += (len(p.pvs) + most - 1) / most {
		pvs = append(pvs, p.pvs[i])
	}
	return pvs
}

// archiveThem starts the archiver with variables added to its environment, and does
// not wait.
func (p *plant) archiveThem(t *testing.T, env ...string) {
	t.Helper()
	groups := t.TempDir()
	for provider, prefix := range prefixes {
		of := slices.DeleteFunc(slices.Clone(p.pvs), func(pv string) bool { return !strings.HasPrefix(pv, prefix) })
		const most = 1000 // channels of a group
		for part := range slices.Chunk(of, most) {
			name := strings.ToLower(strings.ReplaceAll(part[0], ":", "-"))
			program.WriteGroup(t, groups, name, program.Group(name, "provider: "+provider, part...))
		}
	}
	p.Archiver = program.Standalone(t, append(p.ClientEnv(), env...), "-f", groups, "--data", t.TempDir(), "--checkpoint", "4s")
}

// warmUp waits until all PVs have samples, and lets the archiver learn how often
// updates usually come.
func (p *plant) warmUp() {
	p.AwaitSamples(len(p.pvs))
	p.GoOn(12 * time.Second)
	p.begin = time.Now()
	p.GoOn(time.Second)
}

// settle waits until what may be lost is marked: the archiver waits for more of the
// same first.
func (p *plant) settle(t *testing.T) {
	t.Helper()
	p.GoOn(2 * time.Second)
	program.Eventually(t, "what may be lost is marked", func() bool {
		channels := p.Channels()
		for _, pv := range p.some() {
			if channels[pv].Suspected > 0 && !slices.ContainsFunc(p.Marks(pv, p.begin), isLoss) {
				return false
			}
		}
		return true
	})
}

func isLoss(m archive.Mark) bool { return m.Kind == "lost" }

// account fails the test unless each step of some PVs is archived or lies within a
// mark, and those who lost steps say so in their state. It returns how many steps
// each provider lost.
func (p *plant) account(t *testing.T) map[string]int {
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
		marks := p.Marks(pv, p.begin.Add(-time.Minute))
		for _, h := range holes {
			lost[strings.Split(pv, ":")[1]] += h.Missing()
			if unmarked := h.Unmarked(marks); len(unmarked) > 0 {
				t.Errorf("%s: %v, of which that of %s is in no mark: %+v", pv, h, unmarked[0].Format("15:04:05.000"), marks)
			}
		}
		if c := states[pv]; c.Suspected == 0 && c.LostConnections == 0 && c.Dropped["overrun"] == 0 {
			t.Errorf("%s has lost %d steps, and its state counts no loss: %+v", pv, holes[0].Missing(), c)
		}
		if failures += map[bool]int{true: 1}[t.Failed()]; failures > 3 {
			t.FailNow() // the other PVs look alike
		}
	}
	t.Logf("steps that were lost: %v; the archiver took %d MiB of memory at most", lost, p.peak()>>20)
	return lost
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak returns the most memory that the archiver had, in bytes; 0 where the kernel
// does not tell.
func (p *plant) peak() int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	m := highWater.FindSubmatch(status)
	if err != nil || m == nil {
		return 0
	}
	kB, _ := strconv.Atoi(string(m[1]))
	return kB << 10
}

// checkMemory fails the test if the archiver ever had more memory than it may.
func (p *plant) checkMemory(t *testing.T) {
	t.Helper()
	const most = 400 << 20
	if got := p.peak(); got > most {
		t.Errorf("the archiver took %d MiB of memory, more than %d", got>>20, most>>20)
	}
}
